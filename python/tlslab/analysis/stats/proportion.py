"""The interval of a proportion: k of n. Pure."""

import scipy

from tlslab.analysis.stats.estimate import CONFIDENCE


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
