"""Orders of suites: their ranks, and the rank correlation of two orders.

A bootstrap over blocks has no coverage for Kendall's tau: noise mixes close suites, so that the
estimate is biased towards 0, and resamples are further off in the same direction (14 to 77 % of
nominal 95 % intervals contained the tau of the true rates). The bounds here consist of pairs of
suites: pairs that Holm's test separates in both orders are concordant or discordant, all others may
be either. The bounds hold with 95 % whatever the noise is, because all of those tests do at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy

from tlslab.analysis.compare import Measured, paired_logs
from tlslab.analysis.ranking import rank
from tlslab.analysis.stats.estimate import Array, p_value
from tlslab.analysis.stats.families import LEVEL, holm
from tlslab.domain.estimates import quantity
from tlslab.studies.suites.places import short_name
from tlslab.words.numbers import rank_words

# Fewer suites have no order worth comparing.
LEAST_SUITES = 4

# A pair of suites, by their numbers.
Pair = tuple[int, int]


@dataclass(frozen=True)
class Tau:
    """Kendall's tau-b of two orders of `n` suites.

    `p`: the p-value of no association. `low` and `high`: the 95 % bounds, in which pairs that
    cannot be told apart may have either order; None with fewer than two blocks.
    """

    value: float
    p: float
    n: int
    low: float | None = None
    high: float | None = None


def ranks(cells: Sequence[Measured], estimate: str) -> dict[str, str]:
    """The ranks that the trials leave open, by the cell's key, best first: `1`, or `1–3`."""
    return {
        each.cell.summary.key: rank_words(each.best, each.worst) for each in rank(cells, estimate)
    }


def correlation_with(
    cells: Sequence[Measured], estimate: str, published: Sequence[str]
) -> Tau | None:
    """The rank correlation of our order with a published one, over the suites in both."""
    both = [cell for cell in _able(cells, estimate) if short_name(cell) in published]
    if len(both) < LEAST_SUITES:
        return None
    places = [float(published.index(short_name(cell))) for cell in both]
    values = _values(both, estimate, _shared(both, estimate))
    decided = _decided(both, (estimate,))
    known = None if decided is None else (decided[0], _of_places(places))
    return _tau(values, np.tile(places, (values.shape[0], 1)), known)


def order_correlation(cells: Sequence[Measured], one: str, other: str) -> Tau | None:
    """The rank correlation of two of our own orders, over the cells that have both."""
    both = [cell for cell in _able(cells, one) if cell in _able(cells, other)]
    if len(both) < LEAST_SUITES:
        return None
    blocks = sorted({*_shared(both, one)} & {*_shared(both, other)})
    decided = _decided(both, (one, other))
    known = None if decided is None else (decided[0], decided[1])
    return _tau(_values(both, one, blocks), _values(both, other, blocks), known)


def _able(cells: Sequence[Measured], estimate: str) -> list[Measured]:
    return [cell for cell in cells if cell.may_rank(estimate)]


def _shared(cells: Sequence[Measured], estimate: str) -> list[int]:
    """The blocks that all cells have."""
    return sorted(set.intersection(*(set(cell.values[estimate]) for cell in cells)))


def _values(cells: Sequence[Measured], estimate: str, blocks: Sequence[int]) -> Array:
    """The values with blocks in rows and cells in columns; least is best."""
    sign = -1.0 if quantity(estimate).more_is_better else 1.0
    table = [
        [sign * np.log(max(cell.values[estimate][block], 1e-12)) for cell in cells]
        for block in blocks
    ]
    return np.array(table, dtype=np.float64).reshape(len(blocks), len(cells))


def _decided(cells: Sequence[Measured], estimates: Sequence[str]) -> list[dict[Pair, int]] | None:
    """For each estimate, the pairs that the trials separate: 1 if the first cell is worse, else -1.

    All pairs of all estimates are one family; None if nothing can be tested.
    """
    tested: list[tuple[int, Pair, float, int]] = []
    for number, estimate in enumerate(estimates):
        sign = -1 if quantity(estimate).more_is_better else 1
        for a, b in combinations(range(len(cells)), 2):
            logs = paired_logs(cells[a].values[estimate], cells[b].values[estimate])
            p = p_value(logs, cells[a].anytime or cells[b].anytime) if len(logs) else None
            if p is not None:
                tested.append((number, (a, b), p, sign if logs.mean() > 0 else -sign))
    if not tested:
        return None
    found: list[dict[Pair, int]] = [{} for _ in estimates]
    adjusted = holm([p for _, _, p, _ in tested])
    for (number, pair, _, above), within_family in zip(tested, adjusted, strict=True):
        if within_family <= LEVEL:
            found[number][pair] = above
    return found


def _of_places(places: Sequence[float]) -> dict[Pair, int]:
    """All pairs of a given order."""
    return {
        (a, b): 1 if places[a] > places[b] else -1 for a, b in combinations(range(len(places)), 2)
    }


def _tau(
    first: Array, second: Array, decided: tuple[Mapping[Pair, int], Mapping[Pair, int]] | None
) -> Tau | None:
    if not len(first):
        return None
    whole = scipy.stats.kendalltau(first.mean(axis=0), second.mean(axis=0))
    if not np.isfinite(whole.statistic):
        return None
    tau = Tau(float(whole.statistic), float(whole.pvalue), first.shape[1])
    if decided is None:
        return tau
    low, high = tau_bounds(tau.n, *decided)
    return replace(tau, low=min(low, tau.value), high=max(high, tau.value))


def tau_bounds(n: int, one: Mapping[Pair, int], other: Mapping[Pair, int]) -> tuple[float, float]:
    """The bounds of tau for two orders of `n` items.

    The arguments have the decided pairs of each.
    """
    agreeing = [one[pair] * other[pair] for pair in one if pair in other]
    pairs = n * (n - 1) // 2
    left = pairs - len(agreeing)
    return (sum(agreeing) - left) / pairs, (sum(agreeing) + left) / pairs
