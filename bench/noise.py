"""Sources of noise for simulations, and the check that an interval contains the true value."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from bench.queues import Array
from tlslab.analysis.compare import Measured
from tlslab.domain.finding import CellSummary

Draw = np.random.Generator
# Whether an interval contains the true value; None if the estimator gives none.
Trial = Callable[[Draw], bool | None]
Noise = Callable[[Draw, int], Array]


def holds(low: float | None, high: float | None, truth: float) -> bool | None:
    """Whether the true value lies between these ends; None without ends."""
    return None if low is None or high is None else low <= truth <= high


def cell(
    key: str,
    values: Mapping[str, Array],
    factors: Mapping[str, str] | None = None,
    anytime: bool = False,
) -> Measured:
    """A valid cell with one value from each block, by estimate.

    `factors`: by default a level, the key.
    """
    blocks = max(len(each) for each in values.values())
    levels = {"cell": key} if factors is None else factors
    by_block = {name: dict(enumerate(each.tolist())) for name, each in values.items()}
    return Measured(CellSummary(key, levels, "valid", (), blocks, {}), by_block, anytime)


def normal(sd: float) -> Noise:
    """Independent noise."""
    return lambda draw, n: draw.normal(0, sd, n)


def heavy(sd: float) -> Noise:
    """Student's t with 3 degrees of freedom."""
    return lambda draw, n: sd * draw.standard_t(3, n)


def skewed(sd: float) -> Noise:
    """Exponential, centred."""
    return lambda draw, n: sd * (draw.exponential(1, n) - 1)


def autocorrelated(sd: float, coefficient: float) -> Noise:
    """AR(1), stationary."""

    def noise(draw: Draw, n: int) -> Array:
        found = draw.normal(0, sd, n)
        found[0] /= math.sqrt(1 - coefficient**2)
        for i in range(1, n):
            found[i] += coefficient * found[i - 1]
        return found

    return noise


def drifting(sd: float) -> Noise:
    """Noise on a line that rises by two standard deviations, with mean 0."""
    return lambda draw, n: draw.normal(0, sd, n) + sd * np.linspace(-1, 1, n)


def piloted(sd: float) -> Noise:
    """Independent; 1.5 times as large for the first two values, as if from shorter trials."""

    def noise(draw: Draw, n: int) -> Array:
        found = draw.normal(0, sd, n)
        found[:2] *= 1.5
        return found

    return noise
