"""Ratios between cells, paired by block, and the differences that they establish. Pure."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tlslab.analysis.stats.estimate import Array, estimate, mean_interval, p_value
from tlslab.analysis.stats.families import LEVEL, false_discovery
from tlslab.analysis.stats.machines import machines_of, spread_out
from tlslab.domain.enough import EQUIVALENCE
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import in_order, judged_in, quantity
from tlslab.domain.finding import CellSummary, Comparison, ComparisonVerdict

# Amounts that differ by less count as equal: the length of signatures in certificates varies.
LEAST_AMOUNT = 0.01


@dataclass(frozen=True)
class Measured:
    """A cell, and its usable values: by estimate name, then by block.

    `anytime`: the values decided when the run stopped, so that intervals must hold at every block.
    """

    summary: CellSummary
    values: Mapping[str, Mapping[int, float]]
    anytime: bool = False

    def estimated(self) -> dict[str, Estimate]:
        """An estimate of each quantity over its values."""
        return {
            name: estimate(list(self.values[name].values()), quantity(name).unit, self.anytime)
            for name in in_order(self.values)
        }

    def may_compare(self, estimate: str) -> bool:
        """Whether an estimate may be compared with another cell's.

        Not compared are lower bounds, rates that neither side limited, and rates that are left
        open.
        """
        is_open = self.is_bound(estimate) or estimate in self.summary.left_open
        return self._is_usable(estimate) and not is_open

    def may_rank(self, estimate: str) -> bool:
        """Whether the cell may be ranked by an estimate; without TLS, it is compared only."""
        return self.may_compare(estimate) and not self.summary.without_tls

    def is_bound(self, estimate: str) -> bool:
        """Whether the generator was the limit, so that an estimate is a lower bound."""
        return self.summary.is_bound(estimate)

    def has_place(self, estimate: str) -> bool:
        """Whether the cell has a place in a ranking: by its value, or by a lower bound."""
        return self._is_usable(estimate) and not self.summary.without_tls

    def _is_usable(self, estimate: str) -> bool:
        if estimate in self.summary.unsaturated:
            return False
        return self.summary.verdict in ("valid", "at_least") and bool(self.values.get(estimate))


def paired_logs(candidate: Mapping[int, float], baseline: Mapping[int, float]) -> Array:
    """ln(candidate / baseline) in each block with a positive value of both, by block.

    Further apart if the machines of the blocks disagree (stats.machines).
    """
    return spread_out(*logs_by_machine(candidate, baseline))


def logs_by_machine(
    candidate: Mapping[int, float], baseline: Mapping[int, float]
) -> tuple[Array, tuple[int, ...]]:
    """ln(candidate / baseline) in each block with a positive value of both; and its machine."""
    blocks = [b for b in sorted(candidate) if candidate[b] > 0 and baseline.get(b, 0.0) > 0]
    logs = [math.log(candidate[block] / baseline[block]) for block in blocks]
    return np.array(logs), machines_of(blocks)


def is_equal_amount(found: Comparison) -> bool:
    """Whether two amounts are established to differ by less than counts."""
    within = found.may_differ is not None and found.may_differ <= LEAST_AMOUNT
    return within and quantity(found.estimate).is_amount


def direction(estimate: str, above: bool) -> Literal["more", "less", "faster", "slower"]:
    """The verdict on a ratio that is established to be above or below 1."""
    found = quantity(estimate)
    if found.is_amount:
        return "more" if above else "less"
    return "faster" if above == found.more_is_better else "slower"


def compare(
    candidate: Measured,
    baseline: Measured,
    estimate: str,
    bounds: bool = False,
) -> Comparison | None:
    """Candidate over baseline, as if it were the only ratio; None if no block has both.

    With `bounds` the greater side may be a lower bound: the ratio is then a lower bound, too.
    Otherwise a ratio with a lower bound is not comparable.
    """
    logs = paired_logs(candidate.values.get(estimate, {}), baseline.values.get(estimate, {}))
    if not len(logs):
        return None
    anytime = candidate.anytime or baseline.anytime
    centre, interval, method = mean_interval(logs, "log ratios", anytime)
    low, high = (None, None) if interval is None else (math.exp(interval[0]), math.exp(interval[1]))
    allowed = candidate.may_compare(estimate) and baseline.may_compare(estimate)
    if bounds:
        allowed = _orders(candidate, baseline, estimate, centre)
    found = Comparison(
        baseline=baseline.summary.key,
        candidate=candidate.summary.key,
        estimate=estimate,
        ratio=math.exp(centre),
        low=low,
        high=high,
        n=len(logs),
        method=f"paired by block; {method}",
        verdict="cannot_tell" if allowed else "not_comparable",
        p=p_value(logs, anytime),
        may_differ=may_differ(low, high),
    )
    return judged(found, found.p)


def _orders(candidate: Measured, baseline: Measured, estimate: str, centre: float) -> bool:
    """Whether a ratio (its logarithm is `centre`) can establish an order of its sides."""
    sides = (candidate, baseline)
    if not all(side.has_place(estimate) for side in sides):
        return False
    bound, other = (side.is_bound(estimate) for side in sides)
    if bound and other:
        return False
    return centre > 0 if bound else centre < 0 if other else True


def may_differ(low: float | None, high: float | None) -> float | None:
    """The largest difference, either way, in the interval of a ratio, as a share."""
    if low is None or high is None or low <= 0:
        return None
    return max(high, 1 / low) - 1


def judged(
    comparison: Comparison, adjusted_p: float | None, margin: float = EQUIVALENCE
) -> Comparison:
    """The comparison with its verdict, by a p-value adjusted for the family of comparisons."""
    if comparison.verdict == "not_comparable":
        return comparison
    return replace(
        comparison, adjusted_p=adjusted_p, verdict=_verdict(comparison, adjusted_p, margin)
    )


def _verdict(found: Comparison, adjusted_p: float | None, margin: float) -> ComparisonVerdict:
    if found.low is None or found.high is None or adjusted_p is None:
        return "cannot_tell"
    if is_equal_amount(found):
        return "equivalent"
    if adjusted_p <= LEVEL and not found.low <= 1 <= found.high:
        above = found.low > 1
        return direction(found.estimate, above)
    within = found.may_differ is not None and found.may_differ <= margin
    return "equivalent" if within else "cannot_tell"


def judged_together(
    comparisons: Sequence[Comparison],
    margin: float = EQUIVALENCE,
    adjust: Callable[[Sequence[float]], list[float]] = false_discovery,
) -> tuple[Comparison, ...]:
    """The comparisons of one table, with verdicts by the table's false discovery rate."""
    tested = [
        (number, each.p)
        for number, each in enumerate(comparisons)
        if each.p is not None and each.verdict != "not_comparable"
    ]
    adjusted = dict(
        zip((number for number, _ in tested), adjust([p for _, p in tested]), strict=True)
    )
    return tuple(
        judged(each, adjusted.get(number), margin) for number, each in enumerate(comparisons)
    )


def with_baseline(
    cells: Sequence[Measured], baseline: Mapping[str, str]
) -> Iterator[tuple[Measured, Measured]]:
    """Each cell, and the cell that has the baseline's levels and is otherwise equal."""
    by_factors = {frozenset(cell.summary.factors.items()): cell for cell in cells}
    for cell in cells:
        other = by_factors.get(frozenset({**cell.summary.factors, **baseline}.items()))
        if other is not None and other is not cell:
            yield cell, other


def comparisons(cells: Sequence[Measured], baseline: Mapping[str, str]) -> tuple[Comparison, ...]:
    """Each cell against its baseline."""
    found = [
        compare(cell, other, estimate)
        for cell, other in with_baseline(cells, baseline)
        for estimate in judged_in("cells")
    ]
    return judged_together([comparison for comparison in found if comparison is not None])
