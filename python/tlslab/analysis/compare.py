"""Ratios between cells, paired by block, and rankings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tlslab.analysis import keep_alive
from tlslab.analysis.published import ESTIMATES, Study
from tlslab.analysis.stats.estimate import Array, mean_interval
from tlslab.model.finding import CellSummary, Comparison, ComparisonVerdict, Ranking
from tlslab.model.wording import setting_of

# What cells are compared by. Rates: more is faster; costs: less is faster.
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

RANKED = (
    "connections_per_s",
    "server_cpu_us_per_connection",
    "client_cpu_us_per_connection",
    keep_alive.REQUESTS,
    keep_alive.SERVER,
    keep_alive.CLIENT,
)


@dataclass(frozen=True)
class Measured:
    """A cell, and its usable values: by estimate name, then by block."""

    summary: CellSummary
    values: Mapping[str, Mapping[int, float]]

    def may_rank(self, estimate: str) -> bool:
        """Whether the cell may be ranked by an estimate: a lower bound is no rate."""
        verdicts = ("valid",) if is_bounded(estimate) else ("valid", "at_least")
        if estimate in self.summary.lower_bounds:
            return False
        return self.summary.verdict in verdicts and bool(self.values.get(estimate))


def paired_logs(candidate: Mapping[int, float], baseline: Mapping[int, float]) -> Array:
    """ln(candidate / baseline) in each block that has a positive value of both."""
    return np.array(
        [
            math.log(value / baseline[block])
            for block, value in candidate.items()
            if value > 0 and baseline.get(block, 0.0) > 0
        ]
    )


def is_bounded(estimate: str) -> bool:
    """Whether a generator that was the limit with new connections makes it a lower bound."""
    return estimate.endswith("_per_s") and not estimate.startswith(keep_alive.PREFIX)


def more_is_faster(estimate: str) -> bool:
    """Whether more of it is better: true of rates, false of costs."""
    return estimate.endswith("_per_s") or estimate.startswith("connections_per")


def compare(
    candidate: Measured, baseline: Measured, estimate: str, study: Study | None = None
) -> Comparison | None:
    """Candidate over baseline; None when no block has both."""
    logs = paired_logs(candidate.values.get(estimate, {}), baseline.values.get(estimate, {}))
    if not len(logs):
        return None
    centre, interval, method = mean_interval(logs, "log ratios")
    low, high = (None, None) if interval is None else (math.exp(interval[0]), math.exp(interval[1]))
    allowed = candidate.may_rank(estimate) and baseline.may_rank(estimate)
    published = None
    if study is not None and estimate in ESTIMATES:
        published = study.beside(candidate.summary.factors, baseline.summary.factors)
    return Comparison(
        baseline=baseline.summary.key,
        candidate=candidate.summary.key,
        estimate=estimate,
        ratio=math.exp(centre),
        low=low,
        high=high,
        n=len(logs),
        method=f"paired by block; {method}",
        verdict=_verdict(low, high, more_is_faster(estimate)) if allowed else "not_comparable",
        published=published,
    )


def _verdict(low: float | None, high: float | None, rising: bool) -> ComparisonVerdict:
    if low is None or high is None:
        return "not_comparable"
    if low <= 1 <= high:
        return "no_detectable_difference"
    return "faster" if (low > 1) == rising else "slower"


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
    return tuple(comparison for comparison in found if comparison is not None)


def settings(cells: Sequence[Measured], baseline: Mapping[str, str]) -> list[dict[str, str]]:
    """The combinations of the levels that are not compared, in the order of the cells."""
    found: list[dict[str, str]] = []
    for cell in cells:
        setting = setting_of(cell.summary.factors, baseline)
        if setting not in found:
            found.append(setting)
    return found


def rankings(cells: Sequence[Measured], baseline: Mapping[str, str]) -> tuple[Ranking, ...]:
    """One ranking for each setting and ranked estimate, where there is anything to rank."""
    found = []
    for setting in settings(cells, baseline):
        mates = [c for c in cells if setting_of(c.summary.factors, baseline) == setting]
        for estimate in RANKED:
            ordered = order(mates, estimate)
            if ordered:
                groups = tuple(tuple(cell.summary.key for cell in group) for group in ordered)
                found.append(Ranking(setting, estimate, groups))
    return tuple(found)


def order(cells: Sequence[Measured], estimate: str) -> list[list[Measured]]:
    """Cells from the best to the worst; a group's cells differ from its first not detectably."""
    able = [cell for cell in cells if cell.may_rank(estimate)]
    able.sort(key=lambda c: c.summary.estimates[estimate].value, reverse=more_is_faster(estimate))
    groups: list[list[Measured]] = []
    for cell in able:
        if groups and not _differs(cell, groups[-1][0], estimate):
            groups[-1].append(cell)
        else:
            groups.append([cell])
    return groups


def _differs(a: Measured, b: Measured, estimate: str) -> bool:
    comparison = compare(a, b, estimate)
    return comparison is not None and comparison.verdict in ("faster", "slower")
