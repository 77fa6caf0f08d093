"""The BCa bootstrap of a mean (Efron 1987, "Better Bootstrap Confidence Intervals"). Pure.

The numbers are those of scipy.stats.bootstrap; a test compares them. The resamples depend on the
number of values alone: here they are drawn once for each number, and a report has hundreds of
intervals of the same number of trials.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

RESAMPLES = 4_999

# The same values give the same interval, so that the same run folder gives the same summary.
SEED = 20_210_401

Array = npt.NDArray[np.float64]


def bca_interval(data: Array, level: float) -> tuple[float, float]:
    """The interval of the mean of `data` (shape: n) at a level such as 0.95.

    `data` are two values or more, not all equal.
    """
    means, centre = data[_resamples(len(data))].mean(axis=-1), data.mean()
    # The share of resamples with a smaller mean; those with the same mean count half.
    below = (np.count_nonzero(means < centre) + np.count_nonzero(means <= centre)) / 2 / RESAMPLES
    bias, acceleration = float(scipy.special.ndtri(below)), _acceleration(data)
    tail = float(scipy.special.ndtri((1 - level) / 2))
    shifted = np.array([bias + tail, bias - tail])
    shares = scipy.special.ndtr(bias + shifted / (1 - acceleration * shifted))
    low, high = np.quantile(means, shares)
    return float(low), float(high)


def _acceleration(data: Array) -> float:
    """How fast the standard error of the mean changes with the mean, by the jackknife."""
    n = len(data)
    others = np.broadcast_to(np.arange(n), (n, n))[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    without = data[others].mean(axis=-1)
    influence = (n - 1) * (without.mean() - without)
    third, second = (influence**3).sum() / n**3, (influence**2).sum() / n**2
    return float(third / second**1.5 / 6)


@lru_cache(maxsize=32)
def _resamples(n: int) -> npt.NDArray[np.int64]:
    """Which of N values are in each resample (RESAMPLES, n)."""
    return np.random.default_rng(SEED).integers(0, n, (RESAMPLES, n))
