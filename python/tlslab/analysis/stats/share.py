"""Intervals of shares: the mean of one share per trial, and k of n. Pure."""

import math
from collections.abc import Sequence

import numpy as np
import scipy

from tlslab.analysis.stats.estimate import CONFIDENCE, estimate, mean_interval
from tlslab.domain.estimate import Estimate


def share(values: Sequence[float], anytime: bool = False) -> Estimate:
    """The mean of one share per trial, with its 95 % interval.

    Shares strictly between 0 and 1 are averaged as log odds, so that no end of the interval leaves
    that range. A share of exactly 0 or 1 has no log odds: the values are then averaged directly,
    and the interval is cut at 0 and 1. `anytime`: the interval holds after every block. Raises
    ValueError for no values, or for one outside [0, 1].
    """
    if any(not 0 <= value <= 1 for value in values):
        raise ValueError(f"not shares: {list(values)}")
    if not values or min(values) == max(values):
        return estimate(values, "")
    if min(values) == 0 or max(values) == 1:
        return _cut(values, anytime)
    odds = np.log(np.asarray(values) / (1 - np.asarray(values)))
    centre, interval, method = mean_interval(odds, "log odds", anytime)
    assert interval is not None  # two values or more
    low, high = interval
    return Estimate(_back(centre), _back(low), _back(high), len(values), "", method)


def _cut(values: Sequence[float], anytime: bool) -> Estimate:
    shares = np.asarray(values, dtype=np.float64)
    centre, interval, method = mean_interval(shares, "shares", anytime)
    assert interval is not None  # two different values at least
    low, high = max(0.0, interval[0]), min(1.0, interval[1])
    return Estimate(centre, low, high, len(values), "", f"{method}; cut at 0 and 1")


def _back(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def proportion_interval(k: int, n: int, level: float = 1 - CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a share, with k successes in n trials; 0 to 1 for n = 0.

    The error probability is `level` at most, by default 5 %.

    Clopper and Pearson 1934, "The use of confidence or fiducial limits illustrated in the case of
    the binomial", Biometrika 26: the level holds for every n. Raises ValueError if k is not a
    number from 0 to n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n}")
    if n == 0:
        return 0.0, 1.0
    interval = scipy.stats.binomtest(k, n).proportion_ci(1 - level, method="exact")
    return float(interval.low), float(interval.high)
