"""The number of repetitions of a measurement, by its first ones: Stein's two-stage procedure.

Stein 1945, "A two-sample test for a linear hypothesis whose power is independent of the variance",
Annals of Mathematical Statistics 16. The spread s of the first n repetitions determines the total
number N, and the interval of the mean of all N is t(n - 1) s / sqrt(N) to either side: exact for
normal noise, since s and the mean are independent. An ordinary interval that is checked until it is
narrow is too narrow.
"""

import math
from collections.abc import Sequence

import numpy as np
import scipy

CONFIDENCE = 0.95


def repetitions(first: Sequence[float], width: float, most: int) -> int:
    """The total number of repetitions N, `most` at most, given all of the first stage (positive
    values).

    `width` is the desired width of the interval, as a share of the geometric mean.
    """
    if len(first) < 2:
        return most
    # The interval is exp(+-half): its width exp(half) - exp(-half) = 2 sinh(half).
    half = math.asinh(width / 2)
    needed = math.ceil((half_width(first, 1) / half) ** 2)
    return min(most, max(len(first), needed))


def half_width(first: Sequence[float], n: int) -> float:
    """Half the 95 % interval of the mean of the logarithms of N values, by the first of them."""
    spread = float(np.log(first).std(ddof=1))
    t = float(scipy.special.stdtrit(len(first) - 1, (1 + CONFIDENCE) / 2))
    return t * spread / math.sqrt(n)
