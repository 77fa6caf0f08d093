"""The verdict of a gate: whether a run or server is slower than another by more than a limit."""

from dataclasses import dataclass
from typing import Literal

from tlslab.domain.finding import Comparison

GateVerdict = Literal["slower", "passed", "cannot_tell"]


@dataclass(frozen=True)
class Gated:
    """A gated ratio: how many times slower B is, its one-sided 95 % bounds, and its verdict.

    If one side is a lower bound, `high` is infinite or `low` is 0.

    `findable`: the slowdown, as a share, that 9 of 10 such runs establish for a single ratio (for
    one of ten ratios: 84 of 100 runs), whatever the other ratios are.
    """

    comparison: Comparison
    slowdown: float
    low: float
    high: float
    verdict: GateVerdict
    findable: float


@dataclass(frozen=True)
class Gate:
    """The verdict over all gated ratios; `undecided` are those without an interval or a ratio."""

    verdict: GateVerdict
    limit: float
    ratios: tuple[Gated, ...]
    undecided: tuple[Comparison, ...]
