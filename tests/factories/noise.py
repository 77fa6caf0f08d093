"""Series of correlated noise: AR(1), with light and heavy tails."""

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

Tails = Literal["normal", "t3", "bursts"]

_BEFORE = 200

Array = npt.NDArray[np.float64]


def ar1(
    rng: np.random.Generator, n: int, coefficient: float, sd: float, tails: Tails = "normal"
) -> Array:
    """`n` values of mean 0 and standard deviation `sd`.

    `tails` are those of the innovations: normal, Student's t with three degrees of freedom, or
    log-normal bursts downwards in one value of twenty.
    """
    drawn = rng.normal(0, 1, n + _BEFORE)
    if tails == "t3":
        drawn = rng.standard_t(3, n + _BEFORE) / math.sqrt(3)
    elif tails == "bursts":
        hit = rng.random(n + _BEFORE) < 0.05
        drawn -= hit * 2 * rng.lognormal(0, 1, n + _BEFORE)
        # Variance of the normal part, and of a share of bursts: their second moment is 4 e^2.
        drawn = (drawn + 0.1 * math.exp(0.5)) / math.sqrt(
            1 + 0.2 * math.exp(2) - 0.01 * math.exp(1)
        )
    values = lfilter([1.0], [1.0, -coefficient], drawn)[_BEFORE:]
    return np.asarray(values * sd * math.sqrt(1 - coefficient**2))
