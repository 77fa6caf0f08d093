"""Intervals and p-values that are valid at every look: confidence sequences. Pure.

Student's interval is a 95 % interval for a number of values that was fixed beforehand. Looking
after every block and stopping at the first narrow or clear interval is wrong more often. The
intervals here hold at all numbers of values at once, and so at the one at which a run was stopped.

The test is Student's as a martingale: the ratio of two likelihoods of the t-statistic, one without
an effect and one whose effect (mean over standard deviation) is drawn from N(0, g). With n values
and x = t^2 / (n - 1) it is (Gönen, Johnson, Lu and Westfall 2005, "The Bayesian two-sample t test",
for one sample)

    E_n = (1 + n g)^(-1/2) * ((1 + x) / (1 + x / (1 + n g)))^(n/2).

Without an effect E_n is a martingale of mean 1 whatever the variance (Pérez-Ortiz, Lardy, de Heide
and Grünwald 2024, "E-statistics, group invariance and anytime-valid testing", Annals of Statistics
52; Wang and Ramdas 2025, "Anytime-valid t-tests and confidence sequences for Gaussian means with
unknown variance", Sequential Analysis 44), so that it ever exceeds 1/a with a probability of at
most a (Ville 1939). The mean of two such ratios is a martingale, too: g = 5 suits differences of a
few times the noise; g = 300 suits differences of many times the noise, which three or four values
establish.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

Array = npt.NDArray[np.float64]

# The variances g of the effect, in units of the noise.
EFFECTS = (5.0, 300.0)


def evidence(data: Array) -> float:
    """E_n against a mean of 0; 1 for a single value."""
    n, centre = len(data), float(data.mean())
    if n < 2:
        return 1.0
    spread = float(data.std(ddof=1))
    if spread <= 1e-12 * max(1.0, abs(centre)):
        return 1.0 if centre == 0 else math.inf
    x = n * (centre / spread) ** 2 / (n - 1)
    return math.exp(min(_log_evidence(n, x), 700.0))


def p_value(data: Array) -> float | None:
    """An upper bound on the probability of this much evidence, at any time, without an effect."""
    return None if len(data) < 2 else min(1.0, 1.0 / evidence(data))


def mean_interval(data: Array, level: float) -> tuple[float, float] | None:
    """All means against which the evidence is below 1/level; None if that is every mean.

    The level 0.05 gives a 95 % interval.
    """
    n, centre = len(data), float(data.mean())
    if n < 2:
        return None
    spread = float(data.std(ddof=1))
    if spread <= 1e-12 * max(1.0, abs(centre)):
        return centre, centre
    half = half_width(n, spread, level)
    return None if half is None else (centre - half, centre + half)


def half_width(n: int, spread: float, level: float) -> float | None:
    """Half the interval of the mean of `n` values with this standard deviation."""
    unit = _unit_half_width(n, level)
    return None if unit is None else spread * unit


@lru_cache(maxsize=10_000)
def _unit_half_width(n: int, level: float) -> float | None:
    limit = -math.log(level)
    if _log_evidence(n, math.inf) <= limit:
        return None
    high = 1.0
    while _log_evidence(n, high) <= limit:
        high *= 2
    x = float(scipy.optimize.brentq(lambda x: _log_evidence(n, x) - limit, 0.0, high))
    return math.sqrt(x * (n - 1) / n)


def _log_evidence(n: int, x: float) -> float:
    """The logarithm of the mean of E_n over the effects, for x = t^2 / (n - 1)."""
    logs = []
    for effect in EFFECTS:
        scale = 1 + n * effect
        shrunk = math.log(scale) if math.isinf(x) else math.log1p(x) - math.log1p(x / scale)
        logs.append((n * shrunk - math.log(scale)) / 2)
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))
