"""The centre of paired differences by signed ranks, with its one-sided bounds. Pure.

For differences that are symmetric about their centre, whatever their distribution: the test's error
probability is exact (Wilcoxon 1945, "Individual comparisons by ranking methods", Biometrics
Bulletin 1), and a few differences that other work on the machine has made large hardly count. The
estimate is the median of the means of all pairs of differences (Hodges and Lehmann 1963,
"Estimates of location based on rank tests", Annals of Mathematical Statistics 34), and the bounds
are where the test's verdict changes.
"""

import math
from functools import cached_property

import numpy as np
import scipy

from tlslab.analysis.stats.estimate import Array


class SignedRanks:
    """Differences of pairs: two or more values of any unit."""

    def __init__(self, data: Array) -> None:
        self.data = data

    @cached_property
    def _means(self) -> Array:
        """The means of all pairs of differences, of each with itself, too."""
        first, second = np.triu_indices(len(self.data))
        return (self.data[first] + self.data[second]) / 2

    @property
    def centre(self) -> float:
        """Hodges and Lehmann's estimate."""
        return float(np.median(self._means))

    def p_above(self, value: float) -> float:
        """The probability of such large differences, one-sided, if their centre is `value`."""
        moved = self.data - value
        if not moved.any():
            return 1.0
        return float(scipy.stats.wilcoxon(moved, alternative="greater").pvalue)

    def low(self, level: float) -> float:
        """The one-sided lower bound with this error probability; minus infinity for few values."""
        return self._bound(level)

    def high(self, level: float) -> float:
        """The one-sided upper bound with this error probability; infinity for few values."""
        return -SignedRanks(-self.data).low(level)

    def _bound(self, level: float) -> float:
        """The least value that the test does not exclude.

        The p-value rises with the value, at the means of pairs alone: it is asked for between them,
        where no two differences from the value are equal.
        """
        means = np.unique(self._means)
        before = np.concatenate(([means[0] - 1.0], (means[:-1] + means[1:]) / 2))
        if self.p_above(float(before[0])) > level:
            return -math.inf
        excluded, kept = 0, len(means)
        while kept - excluded > 1:
            middle = (excluded + kept) // 2
            if self.p_above(float(before[middle])) > level:
                kept = middle
            else:
                excluded = middle
        return float(means[excluded])
