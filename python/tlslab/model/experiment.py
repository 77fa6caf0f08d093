"""An experiment: factors, their levels, what is pinned, what is left out."""

from collections.abc import Mapping
from dataclasses import dataclass

from tlslab.model.load import LoadPlan
from tlslab.model.workload import Workload

FACTOR_NAMES = ("tls", "key", "group", "suite")


@dataclass(frozen=True)
class Factor:
    """Something that is varied, and the levels that it takes, in the order of the tables."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Exclusion:
    """Cells that are not planned: those that have all these levels."""

    when: Mapping[str, str]
    reason: str


@dataclass(frozen=True)
class Pin:
    """What the cells with all these levels force beside their own factors."""

    when: Mapping[str, str]
    suites: tuple[str, ...] = ()
    signature_schemes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One question, as a plan can be made of it.

    `baseline` names a level for some factors: each cell is compared with the cell that has these
    levels and is otherwise equal. `blocks` is the number of randomised passes over all cells.
    `published` names the data file of a study whose ratios are shown beside ours. `load` has the
    stages of an experiment of that kind.
    """

    name: str
    title: str
    factors: tuple[Factor, ...]
    baseline: Mapping[str, str]
    workload: Workload
    blocks: int
    exclusions: tuple[Exclusion, ...] = ()
    pins: tuple[Pin, ...] = ()
    published: str | None = None
    quick: bool = False
    load: LoadPlan | None = None
