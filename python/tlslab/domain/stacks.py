"""Samples of a server's call stacks, and the split of a connection's cost by them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tlslab.domain.estimate import Estimate


@dataclass(frozen=True)
class CellStacks:
    """The call stacks of a cell's server, sampled in a run of its own.

    `folded` has one line per stack with its number of samples: the process's name, then frames from
    the outermost to the innermost, each as LIBRARY`SYMBOL, joined by `;`. An unknown symbol is `?`.
    `hertz`: samples per second of processor time. `kernel`: the kernel was sampled as well. `lost`:
    the number of samples that did not reach the file. `server_us`: the server's processor time per
    connection in this run, under perf. `reason`: the reason for missing samples, otherwise empty.
    """

    cell: str
    factors: Mapping[str, str]
    started: str
    reason: str = ""
    hertz: int = 0
    kernel: bool = True
    lost: int = 0
    server_us: float | None = None
    folded: str = ""


@dataclass(frozen=True)
class CostPart:
    """A part of a connection's cost to the server in microseconds, with its number of samples."""

    name: str
    samples: int
    estimate: Estimate


@dataclass(frozen=True)
class CellWhy:
    """The cost of a cell's connection to the server, split by samples; the parts add up to `cost`.

    `cost` is the measured cost. `sampled_us` is the cost in the sampled run, under perf; None if it
    is not known.
    """

    cell: str
    factors: Mapping[str, str]
    cost: Estimate
    samples: int
    parts: tuple[CostPart, ...]
    kernel: bool = True
    lost: int = 0
    sampled_us: float | None = None


# `cannot_tell`: the rest may be zero or larger than its margin.
EffectVerdict = Literal["agree", "do_not_agree", "cannot_tell"]


@dataclass(frozen=True)
class EffectCheck:
    """The extra cost of one level over another, and the extra cost of the level's part by samples.

    `source`: the origin of `effect`, the cost model or the costs of two cells. `elsewhere`: the
    effect outside the part; its interval is a 95 % interval for all `family` checks of the run
    together. `margin`: the largest effect elsewhere that still counts as agreeing.
    """

    level: str
    against: str
    part: str
    source: str
    effect: Estimate
    sampled: Estimate
    elsewhere: Estimate
    margin: float
    family: int
    verdict: EffectVerdict
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class Why:
    """The causes of costs: cells with samples, and the reasons for cells without."""

    cells: tuple[CellWhy, ...] = ()
    without: Mapping[str, str] = field(default_factory=dict)
    effects: tuple[EffectCheck, ...] = ()


@dataclass(frozen=True)
class Frame:
    """A frame of a flame graph: `left` and `share` are shares of all samples, `depth` is from 0."""

    name: str
    depth: int
    left: float
    share: float
    samples: int
    part: str


@dataclass(frozen=True)
class Flame:
    """A flame graph of a cell, without frames that are narrower than `pruned`."""

    id: str
    title: str
    samples: int
    pruned: float
    frames: tuple[Frame, ...]
