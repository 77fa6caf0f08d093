"""An experiment: its factors and their levels, its pins, its exclusions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

from tlslab.domain.names import find_suite
from tlslab.domain.stopping import Stopping
from tlslab.domain.workload import Workload

Levels = Mapping[str, str]

# The levels of each factor, by its name.
Factors = Mapping[str, tuple[str, ...]]

# Factors with numbers as levels: a combination may have any number, listed as a level or not.
QUANTITIES = ("resumed", "requests", "document_bytes")


def centre(factors: Factors) -> dict[str, str]:
    """The first level of each factor."""
    return {name: levels[0] for name, levels in factors.items()}


@dataclass(frozen=True)
class Design:
    """Combinations that differ from the centre in more than one level.

    Each is given by its changes.
    """

    more: tuple[Levels, ...] = ()
    held_out: tuple[Levels, ...] = ()

    def fitted(self, factors: Factors) -> Iterator[dict[str, str]]:
        """The combinations to which a model is fitted, the centre first."""
        middle = centre(factors)
        yield middle
        for name, levels in factors.items():
            for level in levels[1:]:
                yield {**middle, name: level}
        yield from _changed(factors, self.more)

    def combinations(self, factors: Factors) -> Iterator[dict[str, str]]:
        """All combinations: the fitted ones, then those held out of the fit."""
        yield from self.fitted(factors)
        yield from _changed(factors, self.held_out)


def _changed(factors: Factors, changes: tuple[Levels, ...]) -> Iterator[dict[str, str]]:
    """The centre with each of these changes, as far as its factors have such levels."""
    for change in changes:
        if all(_has(factors, name, level) for name, level in change.items()):
            yield {**centre(factors), **change}


def _has(factors: Factors, name: str, level: str) -> bool:
    levels = factors.get(name, ())
    return bool(levels) if name in QUANTITIES else level in levels


MATRIX = "matrix"
CAPACITY = "capacity"
BENCHMARK = "benchmark"
COSTS = "costs"
PROOF = "proof"
EFFECTS = "effects"

# The kind of an experiment whose file names none.
DEFAULT_KIND = MATRIX


def is_ranked(kind: str) -> bool:
    """Whether reports set the cells of this kind side by side, in rankings, the best first.

    Otherwise the summary's own figures, tables and findings present the cells.
    """
    return kind == MATRIX


# The experiments of each kind that a user knows.
EXAMPLES = {
    MATRIX: "groups, offload, servers, stapling, suites",
    CAPACITY: "capacity, runtimes",
    BENCHMARK: "concurrency",
    COSTS: "calibrate",
    PROOF: "prove",
    EFFECTS: "--vary",
}


def matches(when: Mapping[str, str], factors: Mapping[str, str]) -> bool:
    """Whether a combination has all the levels of `when`; `*` stands for any characters."""
    return all(fnmatchcase(factors.get(name, ""), level) for name, level in when.items())


@dataclass(frozen=True)
class Factor:
    """A property that is varied, and its levels, in the order of the tables."""

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

    This is no exclusion: in the other cells the factor has no meaning, so nothing is left untried.
    """

    factor: str
    when: Mapping[str, str]
    otherwise: str


@dataclass(frozen=True)
class Pin:
    """Settings that are forced in cells with all these levels, in addition to the cells' own
    factors.

    `key` and `groups` yield to factors of the same names; `backend` is the client's TLS library.
    """

    when: Mapping[str, str]
    suites: tuple[str, ...] = ()
    signature_schemes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    key: str | None = None
    backend: str | None = None


@dataclass(frozen=True)
class Experiment:
    """One question, in the form from which a plan is made.

    `baseline` names a level for some factors: each cell is compared with the cell that has these
    levels and is otherwise equal. `blocks`: the number of randomised passes over all cells.
    `published`: the data file of a study whose ratios are shown beside ours. `kind` selects what is
    done with a cell; `settings` are those of the kind, in addition to the workload; None for
    `matrix`. With `stopping`, a run of the kind `matrix` ends when its answer is known, and
    `blocks` is the limit. `design`: the combinations of levels that are planned; None for all.
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
        """The planned combinations of levels, as `as_planned` returns them; some occur twice."""
        factors = {factor.name: factor.levels for factor in self.factors}
        if self.design is not None:
            yield from map(self.as_planned, self.design.combinations(factors))
            return
        for levels in product(*factors.values()):
            yield self.as_planned(dict(zip(factors, levels, strict=True)))

    def fitted(self) -> Iterator[dict[str, str]]:
        """The combinations of a design to which a model is fitted; none without a design."""
        if self.design is not None:
            factors = {factor.name: factor.levels for factor in self.factors}
            yield from map(self.as_planned, self.design.fitted(factors))

    def as_planned(self, factors: Mapping[str, str]) -> dict[str, str]:
        """A combination of levels; factors that do not apply to it get their level `otherwise`."""
        return {**factors} | {
            only.factor: only.otherwise
            for only in self.only
            if only.factor in factors and not matches(only.when, factors)
        }

    def suites(self, factors: Mapping[str, str]) -> tuple[str, ...]:
        """The suites that a cell forces: its own level, or those of its pins if it names none."""
        suite = find_suite(factors.get("suite", ""))
        if suite is not None:
            return (factors["suite"],)
        pins = [pin.suites for pin in self.pins if matches(pin.when, factors)]
        return tuple(dict.fromkeys(name for suites in pins for name in suites))

    def levels(self, factor: str) -> tuple[str, ...]:
        """The levels of a factor; none for a factor that is not varied."""
        return next((each.levels for each in self.factors if each.name == factor), ())
