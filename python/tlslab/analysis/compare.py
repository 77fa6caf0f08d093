"""Ratios between cells, paired by block, and the differences that they establish. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tlslab.analysis import keep_alive
from tlslab.analysis.published_figures import ESTIMATES, Study
from tlslab.analysis.stats.estimate import Array, mean_interval, p_value
from tlslab.analysis.stats.families import LEVEL, false_discovery
from tlslab.domain.enough import EQUIVALENCE
from tlslab.domain.finding import CellSummary, Comparison, ComparisonVerdict

# The estimates by which cells are compared. Rates: more is faster; costs: less is faster.
COMPARED = (
    "connections_per_s",
    "server_cpu_us_per_connection",
    "server_cpu_us_per_connection_user",
    "server_cpu_us_per_connection_system",
    "client_cpu_us_per_connection",
    "client_cpu_us_per_connection_user",
    "client_cpu_us_per_connection_system",
    "connections_per_cpu_s",
    keep_alive.REQUESTS,
    "keep_alive_bytes_per_s",
    keep_alive.SERVER,
    f"{keep_alive.SERVER}_user",
    f"{keep_alive.SERVER}_system",
    keep_alive.CLIENT,
    "keep_alive_server_memory_bytes",
)

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

    def may_rank(self, estimate: str) -> bool:
        """Whether the cell may be ranked by an estimate.

        Not ranked are lower bounds, rates that neither side limited, and rates that are left open.
        """
        verdicts = ("valid",) if is_bounded(estimate) else ("valid", "at_least")
        found = self.summary
        if estimate in (*found.lower_bounds, *found.unsaturated, *found.left_open):
            return False
        return self.summary.verdict in verdicts and bool(self.values.get(estimate))

    def is_bound(self, estimate: str) -> bool:
        """Whether the generator was the limit, so that an estimate is a lower bound."""
        of_new = self.summary.verdict == "at_least" and is_bounded(estimate)
        return estimate in self.summary.lower_bounds or of_new

    def has_place(self, estimate: str) -> bool:
        """Whether the cell has a place in a ranking: by its value, or by a lower bound."""
        if estimate in self.summary.unsaturated:
            return False
        return self.summary.verdict in ("valid", "at_least") and bool(self.values.get(estimate))


def paired_logs(candidate: Mapping[int, float], baseline: Mapping[int, float]) -> Array:
    """ln(candidate / baseline) in each block with a positive value of both, by block."""
    return np.array(
        [
            math.log(value / baseline[block])
            for block, value in sorted(candidate.items())
            if value > 0 and baseline.get(block, 0.0) > 0
        ]
    )


def is_bounded(estimate: str) -> bool:
    """Whether an estimate becomes a lower bound if the generator limits the new connections."""
    return estimate.endswith("_per_s") and not estimate.startswith(keep_alive.PREFIX)


def more_is_faster(estimate: str) -> bool:
    """Whether a higher value is better: true for rates, false for costs."""
    return estimate.endswith("_per_s") or estimate.startswith("connections_per")


def is_amount(estimate: str) -> bool:
    """Whether an estimate is an amount (memory, bytes): more or less, but not faster or slower."""
    return estimate.endswith("_bytes") or "_bytes_per_" in estimate.removesuffix("_per_s")


def is_equal_amount(found: Comparison) -> bool:
    """Whether two amounts are established to differ by less than counts."""
    within = found.may_differ is not None and found.may_differ <= LEAST_AMOUNT
    return within and is_amount(found.estimate)


def compare(
    candidate: Measured,
    baseline: Measured,
    estimate: str,
    study: Study | None = None,
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
    allowed = candidate.may_rank(estimate) and baseline.may_rank(estimate)
    if bounds:
        allowed = _orders(candidate, baseline, estimate, centre)
    published = None
    if study is not None and estimate in ESTIMATES:
        published = study.beside(candidate.summary.factors, baseline.summary.factors)
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
        published=published,
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
        if is_amount(found.estimate):
            return "more" if above else "less"
        return "faster" if above == more_is_faster(found.estimate) else "slower"
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


def comparisons(
    cells: Sequence[Measured], baseline: Mapping[str, str], study: Study | None
) -> tuple[Comparison, ...]:
    """Each cell against the cell that has the baseline's levels and is otherwise equal."""
    by_factors = {frozenset(cell.summary.factors.items()): cell for cell in cells}
    found = []
    for cell in cells:
        other = by_factors.get(frozenset({**cell.summary.factors, **baseline}.items()))
        if other is None or other is cell:
            continue
        found += [compare(cell, other, estimate, study) for estimate in COMPARED]
    return judged_together([comparison for comparison in found if comparison is not None])
