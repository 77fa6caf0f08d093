"""The ratios of a proof, what each establishes, and whether the run may end. Pure.

Two measures decide: connections, a mix of new and returning clients, and requests on connections
kept open. Each has two ratios: of its rate, and of the server's processor time. The rate decides
if it establishes a gain or a loss; otherwise the processor time decides, if it is known. Only the
processor time can establish that nothing has changed, because its noise is a few per cent, while a
rate contains the noise of everything on the machine; this choice was made before the trials. A rate
whose own interval lies beyond the margin as a loss, but does not reach the family's level, keeps
its measure open. If rate and processor time point in opposite directions, both decide, and the loss
counts. The parts of the mix are shown beside it, and so is the p99 of the handshake. The p99 does
not decide: in a closed loop a time is the number of connections in flight over their rate, so that
it repeats the rate of new clients, which is already in the mix.

All ratios are one family. A gain or a loss is established by its interval at the level of 5 % over
the number of ratios (Bonferroni), so that the chance of a single false one among all is at most
5 %. For the verdict that nothing has changed, every deciding ratio must lie within the margin. A
gain is worth a deployment if no other deciding ratio may have lost more than the margin. For these
two, each ratio may use its own 95 % interval (Berger 1982, intersection-union tests). Fewer than
FEWEST blocks establish nothing.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tlslab.analysis.compare import Measured
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.proof.sides import RATES, Sides, has_one_client, measured_cells, sides_of
from tlslab.analysis.stats.estimate import CONFIDENCE, Array, estimate, family_interval
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import HANDSHAKE_P99, quantity
from tlslab.domain.proof import Direction, ProofFigure, ProofVerdict
from tlslab.domain.proof_settings import DECIDING, Measure, needed, settings_of
from tlslab.domain.run import RunContents
from tlslab.domain.stopping import Stopping

_TWO_CLIENTS = "not comparable: the connections are not of the same client of the lab"
_VALID = ("valid", "at_least")
_UNDECIDED = "neither rate nor processor time is known on both sides"

_OPPOSITE: Mapping[Direction, Direction] = {"gain": "loss", "loss": "gain"}


@dataclass(frozen=True)
class _Ratio:
    """A ratio before it is judged in its family; `logs`: of how many times as good, by block.

    `only` is the one direction that it can establish; None: any.
    """

    measure: Measure
    estimate: str
    sides: Sides
    logs: Array
    why_open: str = ""
    only: Direction | None = None


def figures_of(contents: RunContents, cells: Sequence[Measured]) -> tuple[ProofFigure, ...]:
    """All ratios of a run."""
    settings = settings_of(contents.experiment)
    sides = sides_of(cells, settings.returning)
    return figures(sides, settings.margin, has_one_client(contents))


def figures(
    sides: Mapping[Measure, Sides], margin: float, one_client: bool = True
) -> tuple[ProofFigure, ...]:
    """All ratios, judged as one family; `margin` is a share.

    `one_client`: the same client of the lab made the connections of both configurations, so that
    its times are comparable.
    """
    ratios = [
        ratio
        for measure, each in sides.items()
        for ratio in _of_measure(measure, *RATES[measure], each)
    ]
    new = sides.get("new")
    if new is not None and len(logs := new.better(HANDSHAKE_P99)):
        only: Direction | None = None if new.usable else "open"
        why = "" if one_client else _TWO_CLIENTS
        ratios.append(_Ratio("handshake", HANDSHAKE_P99, new, logs, why, only))
    known = sum(len(ratio.logs) > 1 and not ratio.why_open for ratio in ratios)
    found = [_judged(ratio, max(1, known), margin) for ratio in ratios]
    return tuple(replace(each, decides=_decides(each, found, margin)) for each in found)


def _decides(found: ProofFigure, family: Sequence[ProofFigure], margin: float) -> bool:
    """Whether this ratio decides for its measure, or the measure's other ratio does."""
    if found.measure not in DECIDING or found.why_open:
        return False
    of_measure = [each for each in family if each.measure == found.measure and not each.why_open]
    by_rate = next(
        (each for each in of_measure if quantity(each.estimate).dimension == "rate"), None
    )
    by_cost = next(
        (each for each in of_measure if quantity(each.estimate).dimension == "cost"), None
    )
    if by_rate is None or by_cost is None:
        return True
    if by_rate.direction not in _OPPOSITE:
        # Too weak for the family, too strong for "no difference": a loss by its own interval.
        lost = by_rate.own_high is not None and by_rate.own_high < 1 / (1 + margin)
        return found is by_cost or lost
    return found is by_rate or by_cost.direction == _OPPOSITE[by_rate.direction]


def _of_measure(measure: Measure, rate: str, cost: str, sides: Sides) -> Iterable[_Ratio]:
    by_rate, by_cost = sides.better(rate), sides.better(cost)
    ranks = all(side.may_rank(rate) for side in sides.both)
    costs = len(by_cost) > 0 and all(side.may_rank(cost) for side in sides.both)
    only = None if ranks else _one_sided(sides, rate)
    decided = bool(len(by_rate)) and (ranks or (not costs and only is not None))
    if len(by_rate):
        why = "" if decided else _why(sides, rate)
        yield _Ratio(measure, rate, sides, by_rate, why, only)
    if len(by_cost):
        why = "" if costs else _UNDECIDED
        yield _Ratio(measure, cost, sides, by_cost, why)


def _one_sided(sides: Sides, rate: str) -> Direction | None:
    """The direction that a ratio with one lower bound can still establish."""
    bounds = [side.is_bound(rate) for side in sides.both]
    if not all(side.has_place(rate) for side in sides.both):
        return None
    if bounds == [False, True]:
        return "gain"
    return "loss" if bounds == [True, False] else None


def _why(sides: Sides, rate: str) -> str:
    """The reason that a rate does not decide."""
    for side in sides.both:
        name = side.summary.factors["configuration"]
        if side.summary.verdict not in _VALID:
            return f"no valid result of the {name}"
        if side.is_bound(rate):
            return f"lower bound of the {name}: the generator was the limit"
        if rate in side.summary.unsaturated:
            return f"not the server's limit with the {name}"
    return _UNDECIDED


def _judged(ratio: _Ratio, family: int, margin: float) -> ProofFigure:
    anytime = ratio.sides.baseline.anytime
    level = 1 - CONFIDENCE
    together, method = family_interval(ratio.logs, level / family, anytime)
    own, _ = family_interval(ratio.logs, level, anytime)
    low, high = _ends(together)
    own_low, own_high = _ends(own)
    before, after = (_value(side, ratio.estimate) for side in ratio.sides.both)
    found = ProofFigure(
        measure=ratio.measure,
        estimate=ratio.estimate,
        before=before,
        after=after,
        better=math.exp(float(ratio.logs.mean())),
        low=low,
        high=high,
        own_low=own_low,
        own_high=own_high,
        n=len(ratio.logs),
        method=f"paired by block; {method}, 95 % over a family of {family}",
        direction="open",
        decides=False,
        why_open=ratio.why_open,
        no_result=any(side.summary.verdict not in _VALID for side in ratio.sides.both),
    )
    if ratio.why_open or found.n < FEWEST:
        return found
    direction = direction_of(found, margin)
    if ratio.only is not None and direction != ratio.only:
        direction = "open"
    no_loss = ratio.only in (None, "gain") and own_low is not None and own_low > 1 / (1 + margin)
    return replace(found, direction=direction, no_loss=no_loss)


def _value(side: Measured, name: str) -> Estimate:
    return estimate(list(side.values[name].values()), quantity(name).unit, side.anytime)


def _ends(interval: tuple[float, float] | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (math.exp(interval[0]), math.exp(interval[1]))


def direction_of(found: ProofFigure, margin: float) -> Direction:
    """The finding of a ratio: no difference beyond the margin, a gain, or a loss."""
    most = 1 + margin
    if found.low is None or found.high is None or found.own_low is None or found.own_high is None:
        return "open"
    if found.own_low > 1 / most and found.own_high < most:
        return "equal"
    if found.low > 1:
        return "gain"
    return "loss" if found.high < 1 / most else "open"


def verdict_of(
    figures: Sequence[ProofFigure], wanted: Sequence[Measure] = DECIDING
) -> ProofVerdict:
    """The verdict by the measurements alone; each measure of `wanted` must have a ratio."""
    deciding = [each for each in figures if each.decides]
    directions = [each.direction for each in deciding]
    if "loss" in directions:
        return "do_not"
    if set(wanted) - {each.measure for each in deciding}:
        return "cannot_tell"
    if all(each == "equal" for each in directions):
        return "no_difference"
    nothing_lost = all(each.direction == "gain" or each.no_loss for each in deciding)
    return "deploy" if "gain" in directions and nothing_lost else "cannot_tell"


def still_open(contents: RunContents, stopping: Stopping, block: int) -> frozenset[str]:
    """The cells of this block: all until the verdict is known, then none.

    `stopping.at_least` blocks are always run.
    """
    everything = frozenset(cell.key for cell in contents.plan.cells)
    if block < stopping.at_least:
        return everything
    found = figures_of(contents, measured_cells(contents))
    known = verdict_of(found, needed(contents.experiment)) != "cannot_tell"
    return frozenset() if known else everything
