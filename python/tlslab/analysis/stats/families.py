"""Many tests at once: p-values adjusted for the error rate of the whole family. Pure."""

from collections.abc import Sequence

import numpy as np
import scipy

# A difference is reported if its adjusted p-value is at most this.
LEVEL = 0.05


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted for the family: the chance of a single false difference among all is at most LEVEL.

    Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6; valid for any dependence between the tests.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return [float(each) for each in adjusted]


def false_discovery(p_values: Sequence[float]) -> list[float]:
    """Adjusted for the share of false differences among the reported ones: on average at most
    LEVEL.

    Benjamini and Hochberg 1995, "Controlling the false discovery rate", Journal of the Royal
    Statistical Society B 57; for tests that are independent or positively dependent, as those
    against one baseline are (Benjamini and Yekutieli 2001).
    """
    if not p_values:
        return []
    return [float(each) for each in scipy.stats.false_discovery_control(p_values, method="bh")]
