"""Orders of suites: their ranks, and how far two of them agree."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from tlslab.analysis.compare import Measured, more_is_faster
from tlslab.analysis.ranking import rank
from tlslab.analysis.stats.estimate import Array
from tlslab.analysis.studies.suites.places import short_name
from tlslab.model.wording import rank_words

# Fewer than this many suites have no order worth comparing.
LEAST_SUITES = 4

CONFIDENCE = 0.95
_RESAMPLES = 499

# The resamples depend on the values alone: the same run folder gives the same summary.
_SEED = 20_190_901


@dataclass(frozen=True)
class Tau:
    """Kendall's tau-b of two orders of `n` suites.

    `p` is that of no association. `low` and `high` are a 95 % percentile interval over resampled
    blocks: what the trials' noise leaves open; None with fewer than two blocks.
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
    """Our order of the suites that a published one has, too, against that."""
    both = [cell for cell in _able(cells, estimate) if short_name(cell) in published]
    if len(both) < LEAST_SUITES:
        return None
    places = [float(published.index(short_name(cell))) for cell in both]
    values = _values(both, estimate, _shared(both, estimate))
    return _tau(values, np.tile(places, (values.shape[0], 1)))


def order_correlation(cells: Sequence[Measured], one: str, other: str) -> Tau | None:
    """Two of our own orders against each other, over the cells that have both."""
    both = [cell for cell in _able(cells, one) if cell in _able(cells, other)]
    if len(both) < LEAST_SUITES:
        return None
    blocks = sorted({*_shared(both, one)} & {*_shared(both, other)})
    return _tau(_values(both, one, blocks), _values(both, other, blocks))


def _able(cells: Sequence[Measured], estimate: str) -> list[Measured]:
    return [cell for cell in cells if cell.may_rank(estimate)]


def _shared(cells: Sequence[Measured], estimate: str) -> list[int]:
    """The blocks that all cells have."""
    return sorted(set.intersection(*(set(cell.values[estimate]) for cell in cells)))


def _values(cells: Sequence[Measured], estimate: str, blocks: Sequence[int]) -> Array:
    """The blocks in rows, cells in columns, least is best."""
    sign = -1.0 if more_is_faster(estimate) else 1.0
    table = [
        [sign * np.log(max(cell.values[estimate][block], 1e-12)) for cell in cells]
        for block in blocks
    ]
    return np.array(table, dtype=np.float64).reshape(len(blocks), len(cells))


def _tau(first: Array, second: Array) -> Tau | None:
    if not len(first):
        return None
    whole = scipy.stats.kendalltau(first.mean(axis=0), second.mean(axis=0))
    if not np.isfinite(whole.statistic):
        return None
    tau = Tau(float(whole.statistic), float(whole.pvalue), first.shape[1])
    if len(first) < 2:
        return tau
    rows = np.random.default_rng(_SEED).integers(0, len(first), (_RESAMPLES, len(first)))
    taus = _taus(first[rows].mean(axis=1), second[rows].mean(axis=1))
    low, high = np.nanquantile(taus, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Tau(tau.value, tau.p, tau.n, float(low), float(high))


def _taus(first: Array, second: Array) -> Array:
    """Tau-b of each row of one with that of the other, all at once."""
    one, other = np.triu_indices(first.shape[1], 1)
    a = np.sign(first[:, one] - first[:, other])
    b = np.sign(second[:, one] - second[:, other])
    pairs = np.abs(a).sum(axis=1) * np.abs(b).sum(axis=1)
    found: Array = (a * b).sum(axis=1) / np.sqrt(np.where(pairs > 0, pairs, np.nan))
    return found


def tau_words(tau: Tau) -> str:
    """`0.61 (95 % over blocks: 0.55 to 0.66; p = 0.0001; 23 suites)`."""
    interval = ""
    if tau.low is not None and tau.high is not None:
        interval = f"95 % over blocks: {tau.low:.2f} to {tau.high:.2f}; "
    p = "p < 0.001" if tau.p < 0.001 else f"p = {tau.p:.2g}"
    return f"{tau.value:.2f} ({interval}{p}; {tau.n} suites)"
