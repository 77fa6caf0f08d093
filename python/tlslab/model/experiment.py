"""An experiment: factors, their levels, what is pinned, what is left out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

from tlslab.model.design import Design, centre
from tlslab.model.stopping import Stopping
from tlslab.model.workload import Workload

MATRIX = "matrix"
CAPACITY = "capacity"
BENCHMARK = "benchmark"
COSTS = "costs"
PROOF = "proof"

# The kind of a file that names none.
DEFAULT_KIND = MATRIX


def matches(when: Mapping[str, str], factors: Mapping[str, str]) -> bool:
    """Whether a combination has all the levels of `when`; `*` stands for any characters."""
    return all(fnmatchcase(factors.get(name, ""), level) for name, level in when.items())


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
class ConditionalFactor:
    """A factor that belongs to the cells with all these levels; others have the level `otherwise`.

    That is no exclusion: there is nothing that could have been tried.
    """

    factor: str
    when: Mapping[str, str]
    otherwise: str


@dataclass(frozen=True)
class Pin:
    """What the cells with all these levels force beside their own factors.

    `key` and `groups` give way to factors of these names; `backend` is the client's TLS library.
    """

    when: Mapping[str, str]
    suites: tuple[str, ...] = ()
    signature_schemes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    key: str | None = None
    backend: str | None = None


@dataclass(frozen=True)
class Experiment:
    """One question, as a plan can be made of it.

    `baseline` names a level for some factors: each cell is compared with the cell that has these
    levels and is otherwise equal. `blocks` is the number of randomised passes over all cells.
    `published` names the data file of a study whose ratios are shown beside ours. `kind` says what
    is done with a cell; `settings` are those of a kind beside the workload, None for `matrix`. With
    `stopping` a run of the kind `matrix` ends when its answer is known, and `blocks` are the most.
    `design`: which combinations of levels are planned; None for all.
    """

    name: str
    title: str
    factors: tuple[Factor, ...]
    baseline: Mapping[str, str]
    workload: Workload
    blocks: int
    exclusions: tuple[Exclusion, ...] = ()
    pins: tuple[Pin, ...] = ()
    only: tuple[ConditionalFactor, ...] = ()
    published: str | None = None
    quick: bool = False
    kind: str = DEFAULT_KIND
    settings: Any = None
    stopping: Stopping | None = None
    design: Design | None = None

    @property
    def centre(self) -> dict[str, str]:
        """The first level of each factor."""
        return centre({factor.name: factor.levels for factor in self.factors})

    def combinations(self) -> Iterator[dict[str, str]]:
        """The combinations of levels that are planned, as `as_planned` has them; some twice."""
        factors = {factor.name: factor.levels for factor in self.factors}
        if self.design is not None:
            yield from map(self.as_planned, self.design.combinations(factors))
            return
        for levels in product(*factors.values()):
            yield self.as_planned(dict(zip(factors, levels, strict=True)))

    def fitted(self) -> Iterator[dict[str, str]]:
        """Those of a design that a model is fitted to; none without a design."""
        if self.design is not None:
            factors = {factor.name: factor.levels for factor in self.factors}
            yield from map(self.as_planned, self.design.fitted(factors))

    def as_planned(self, factors: Mapping[str, str]) -> dict[str, str]:
        """A combination of levels, with those of factors that do not belong to it replaced."""
        return {**factors} | {
            only.factor: only.otherwise
            for only in self.only
            if only.factor in factors and not matches(only.when, factors)
        }

    def levels(self, factor: str) -> tuple[str, ...]:
        """The levels of a factor; none for one that is not varied."""
        return next((each.levels for each in self.factors if each.name == factor), ())
