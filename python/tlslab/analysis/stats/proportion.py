"""The interval of a proportion: k of n. Pure."""

import scipy

from tlslab.analysis.stats.estimate import CONFIDENCE


def proportion_interval(k: int, n: int) -> tuple[float, float]:
    """The exact interval of 95 % of a share that k of n were found with; 0 to 1 for n = 0.

    Clopper and Pearson 1934, "The use of confidence or fiducial limits illustrated in the case of
    the binomial", Biometrika 26: it holds the share in at least 95 % of cases, at every n. Raises
    ValueError when k is not a number from 0 to n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n}")
    if n == 0:
        return 0.0, 1.0
    interval = scipy.stats.binomtest(k, n).proportion_ci(CONFIDENCE, method="exact")
    return float(interval.low), float(interval.high)
