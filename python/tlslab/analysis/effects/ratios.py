"""The effect of each factor, the others equal, and where one factor changes another's. Pure.

A measure has one value for each combination of levels in each block. The effect of a level against
the first one is the mean, over the combinations of the other factors, of the logarithms of the
ratios of two cells that differ in this factor alone: one value from each block in which all these
cells have one, so that every combination weighs the same (a full factorial; Box, Hunter and Hunter
2005, "Statistics for Experimenters", 5.3). The interaction of two factors is the ratio of one's
effects at two levels of the other. Intervals are Student's over blocks.

All effects and interactions of a run are one family (Holm): the chance of a single false one among
all is at most 5 %.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from tlslab.analysis.stats.estimate import Array, mean_interval, p_value
from tlslab.analysis.stats.families import LEVEL, holm
from tlslab.analysis.stats.machines import machines_of, spread_out
from tlslab.domain.effects import Measure
from tlslab.domain.enough import EQUIVALENCE
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import RATIO
from tlslab.domain.stopping import LEAST_BLOCKS

Levels = Mapping[str, str]

# The values of each combination, by block.
Values = Mapping[frozenset[tuple[str, str]], Mapping[int, float]]


@dataclass(frozen=True)
class Change:
    """A factor at a level, against its first one."""

    factor: str
    level: str
    against: str


@dataclass(frozen=True)
class Effect:
    """How many times as much a measure is with a change; with two changes: their interaction.

    `at`: the levels of the other factors for which the effect is, none for all of them. `logs`: the
    logarithm of the ratio in each block; `anytime`: their number depended on the values. `p` is
    adjusted for the family; None outside of it.
    """

    measure: Measure
    estimate: str
    changes: tuple[Change, ...]
    at: Levels
    logs: Array
    anytime: bool = False
    p: float | None = None

    @property
    def ratio(self) -> Estimate:
        """The ratio with its own interval of 95 %."""
        centre, interval, method = mean_interval(self.logs, "log ratios", self.anytime)
        low, high = (None, None) if interval is None else map(math.exp, interval)
        return Estimate(math.exp(centre), low, high, len(self.logs), RATIO, method)

    @property
    def established(self) -> bool:
        """Whether the effect differs from 1, in its family and by its own interval."""
        found = self.ratio
        if self.p is None or found.low is None or found.high is None or found.n < LEAST_BLOCKS:
            return False
        return self.p <= LEVEL and not found.low <= 1 <= found.high

    @property
    def may_differ(self) -> float | None:
        """The largest difference from 1 that its interval leaves open, as a share."""
        found = self.ratio
        if found.low is None or found.high is None or found.low <= 0 or found.n < LEAST_BLOCKS:
            return None
        return max(found.high, 1 / found.low) - 1

    @property
    def equal(self) -> bool:
        """Whether a difference that matters is excluded."""
        return self.may_differ is not None and self.may_differ <= EQUIVALENCE

    @property
    def settled(self) -> bool:
        """Whether a difference is established, or one that matters excluded."""
        return self.established or self.equal


@dataclass(frozen=True)
class MeasureValues:
    """A measure of all combinations: the estimate it is by, and its values.

    `anytime`: the values decided when the run stopped.
    """

    measure: Measure
    estimate: str
    values: Values
    anytime: bool = False


def effects(varied: Mapping[str, Sequence[str]], measured: Sequence[MeasureValues]) -> list[Effect]:
    """All effects and interactions of all measures, judged as one family."""
    found = [
        effect
        for each in measured
        for effect in (*_mains(varied, each), *_interactions(varied, each))
    ]
    tested = [(number, p) for number, each in enumerate(found)
              if (p := p_value(each.logs, each.anytime)) is not None]  # fmt: skip
    adjusted = dict(zip((n for n, _ in tested), holm([p for _, p in tested]), strict=True))
    return [replace(each, p=adjusted.get(number)) for number, each in enumerate(found)]


def at_levels(
    varied: Mapping[str, Sequence[str]], measured: MeasureValues, change: Change, other: str
) -> Iterator[Effect]:
    """The effect of a change at each level of another factor."""
    for level in varied[other]:
        found = _effect({**varied, other: (level,)}, measured, (change,), {other: level})
        if found is not None:
            yield found


def changes(factor: str, levels: Sequence[str]) -> list[Change]:
    """Each level against the first."""
    return [Change(factor, level, levels[0]) for level in levels[1:]]


def _mains(varied: Mapping[str, Sequence[str]], measured: MeasureValues) -> Iterator[Effect]:
    for factor, levels in varied.items():
        for change in changes(factor, levels):
            if (found := _effect(varied, measured, (change,), {})) is not None:
                yield found


def _interactions(varied: Mapping[str, Sequence[str]], measured: MeasureValues) -> Iterator[Effect]:
    for one, other in combinations(varied, 2):
        pairs = product(changes(one, varied[one]), changes(other, varied[other]))
        for pair in pairs:
            if (found := _effect(varied, measured, pair, {})) is not None:
                yield found


def _effect(
    varied: Mapping[str, Sequence[str]],
    measured: MeasureValues,
    wanted: tuple[Change, ...],
    at: Levels,
) -> Effect | None:
    """The effect of changes over all combinations of the other factors that have all its cells.

    None without any, or without a block that has a value of each.
    """
    changed = {change.factor for change in wanted}
    others = {name: levels for name, levels in varied.items() if name not in changed}
    contrasts = []
    for levels in product(*others.values()):
        rest = dict(zip(others, levels, strict=True))
        signed = [
            (sign, measured.values.get(frozenset({**rest, **corner}.items()), {}))
            for sign, corner in _corners(wanted)
        ]
        if all(values for _, values in signed):
            contrasts.append(signed)
    if not contrasts:
        return None
    cells = [values for signed in contrasts for _, values in signed]
    blocks = sorted(set.intersection(*(set(values) for values in cells)))
    logs = [
        float(np.mean([sum(sign * math.log(v[block]) for sign, v in signed)
                       for signed in contrasts]))
        for block in blocks
    ]  # fmt: skip
    if not logs:
        return None
    apart = spread_out(np.array(logs), machines_of(blocks))
    return Effect(measured.measure, measured.estimate, wanted, at, apart, anytime=measured.anytime)


def _corners(wanted: tuple[Change, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """The cells of a contrast with their signs: one change has two, an interaction four."""
    for taken in product((True, False), repeat=len(wanted)):
        corner = {
            change.factor: change.level if new else change.against
            for change, new in zip(wanted, taken, strict=True)
        }
        yield (-1) ** taken.count(False), corner
