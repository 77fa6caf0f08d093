"""Measured effects of levels, compared with the samples of the part that should contain them.

Another group means another key exchange, another certificate key another signature. The extra cost
of such a level is known without any samples: from the cost model of a calibration, or else as the
difference of two cells that differ in nothing else. The difference of that part by samples is a
second measurement of the extra cost.

The effect outside the part is the rest. The two measurements agree if the rest is established to be
smaller than a share of the effect; they do not agree if the rest is established to differ from
zero. All checks of a run are one family: the level of 5 % is divided among them (Bonferroni).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tlslab.analysis.costs.model import CostModel
from tlslab.analysis.stats.estimate import widened
from tlslab.analysis.stats.families import LEVEL
from tlslab.analysis.why.shares import share_of
from tlslab.domain.estimate import Estimate
from tlslab.domain.stacks import CellWhy, EffectCheck, EffectVerdict
from tlslab.domain.wording import level_label

# The part that each factor changes.
PART_OF = {"group": "key exchange", "key": "signature"}

# Effect and samples agree if at most this share of the effect is elsewhere: the part then contains
# at least three quarters of it.
AGREE = 0.25

MODEL = "the cost model"
CELLS = "the costs of two cells"


def effect_checks(
    cells: Sequence[CellWhy], baseline: Mapping[str, str], model: CostModel | None
) -> tuple[EffectCheck, ...]:
    """One check for each cell that differs from another one by a group or a key alone.

    Cells without samples of the kernel have no shares of the whole cost. `baseline`: the levels
    with which others are compared; with a cost model, its centre takes their place.
    """
    centre = baseline if model is None else model.centre
    pairs = [
        (cell, other, factor)
        for factor, part in PART_OF.items()
        for cell, other in _pairs(cells, factor, centre)
        if cell.kernel and other.kernel and (_count(cell, part) or _count(other, part))
    ]
    return tuple(_check(*pair, model, len(pairs)) for pair in pairs)


def _pairs(
    cells: Sequence[CellWhy], factor: str, baseline: Mapping[str, str]
) -> Iterator[tuple[CellWhy, CellWhy]]:
    """Cells with another level of the factor, each with the one at the baseline's level."""
    if factor not in baseline:
        return
    by_factors = {tuple(sorted(each.factors.items())): each for each in cells}
    for each in cells:
        if each.factors.get(factor) in (None, baseline[factor]):
            continue
        wanted = {**each.factors, factor: baseline[factor]}
        other = by_factors.get(tuple(sorted(wanted.items())))
        if other is not None:
            yield each, other


def _check(
    cell: CellWhy, other: CellWhy, factor: str, model: CostModel | None, family: int
) -> EffectCheck:
    part, level = PART_OF[factor], level_label(factor, cell.factors[factor])
    chance = LEVEL / family
    sampled = minus(_part(cell, part), _part(other, part))
    if model is not None and level in model.parts:
        source, effect = MODEL, model.difference(cell.factors, other.factors)
        # The error of the costs is in the effect already and is not counted twice.
        shares = minus(_sampled(cell, part, chance), _sampled(other, part, chance))
        elsewhere = minus(widened(effect, chance), shares)
    else:
        source, effect = CELLS, minus(cell.cost, other.cost)
        # The parts add up to the costs: the remainder is in the other parts.
        elsewhere = minus(_others(cell, part, chance), _others(other, part, chance))
    margin = AGREE * abs(effect.value)
    return EffectCheck(
        level,
        level_label(factor, other.factors[factor]),
        part,
        source,
        effect,
        sampled,
        elsewhere,
        margin,
        family,
        _verdict(effect, elsewhere, margin),
        (cell.cell, other.cell),
    )


def _verdict(effect: Estimate, elsewhere: Estimate, margin: float) -> EffectVerdict:
    """The verdict from the interval of the rest; `cannot_tell` without one."""
    rest = _ends(elsewhere)
    if rest is None:
        return "cannot_tell"
    if established(effect) and -margin <= rest[0] and rest[1] <= margin:
        return "agree"
    return "cannot_tell" if rest[0] <= 0 <= rest[1] else "do_not_agree"


def established(effect: Estimate) -> bool:
    """Whether the effect is established: its interval does not contain 0."""
    ends = _ends(effect)
    return ends is not None and not ends[0] <= 0 <= ends[1]


def minus(left: Estimate, right: Estimate) -> Estimate:
    """A difference of two independent estimates: errors add as squares."""
    value = left.value - right.value
    low = high = None
    if (ends := _ends(left)) and (others := _ends(right)):
        low = value - math.hypot(left.value - ends[0], others[1] - right.value)
        high = value + math.hypot(ends[1] - left.value, right.value - others[0])
    method = f"difference of two estimates; errors added as squares ({left.method})"
    return Estimate(value, low, high, min(left.n, right.n), left.unit, method)


def _ends(estimate: Estimate) -> tuple[float, float] | None:
    if estimate.low is None or estimate.high is None:
        return None
    return estimate.low, estimate.high


def _count(cell: CellWhy, name: str) -> int:
    """The samples of a part; 0 if it has too few to be listed."""
    return next((part.samples for part in cell.parts if part.name == name), 0)


def _part(cell: CellWhy, name: str) -> Estimate:
    return share_of(_count(cell, name), cell.samples, cell.cost)


def _sampled(cell: CellWhy, name: str, level: float) -> Estimate:
    """A part, with the error of the samples alone."""
    cost = replace(cell.cost, low=None, high=None)
    return share_of(_count(cell, name), cell.samples, cost, level)


def _others(cell: CellWhy, name: str, level: float) -> Estimate:
    """The sum of all other parts."""
    count = cell.samples - _count(cell, name)
    return share_of(count, cell.samples, widened(cell.cost, level), level)
