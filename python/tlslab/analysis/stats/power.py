"""Which difference a comparison of a number of blocks finds, or excludes. Pure."""

import math

import scipy

from tlslab.analysis.stats.estimate import CONFIDENCE

# A difference counts as detectable when it is found so often.
POWER = 0.9


def detectable(noise: float, n: int) -> float:
    """The difference that the paired t-test of N values finds 9 times in 10, at 5 %, as a share.

    `noise` is the standard deviation of the logarithms of the ratios. By the noncentral t
    distribution (Cohen 1988, "Statistical Power Analysis for the Behavioral Sciences", 2.5). Raises
    ValueError for fewer than two values.
    """
    if n < 2:
        raise ValueError(f"{n} values have no test")
    critical = float(scipy.special.stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return math.expm1(needed_effect(critical, n - 1) * noise / math.sqrt(n))


def excludable(noise: float, n: int, measures: int) -> float:
    """The difference that the intervals of N values exclude for some measures, where there is none.

    All of them together 9 times in 10, if the measures are independent; as a share. Two one-sided
    tests (Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power
    approach"), with Student's t for the estimate, too, whose error is read off the same values.
    `noise` is as in `detectable`. Raises ValueError for fewer than two values.
    """
    if n < 2:
        raise ValueError(f"{n} values have no test")
    of_each = POWER ** (1 / measures)
    interval = float(scipy.special.stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    estimate = float(scipy.special.stdtrit(n - 1, (1 + of_each) / 2))
    return math.expm1((interval + estimate) * noise / math.sqrt(n))


def needed_effect(critical: float, degrees: float | None) -> float:
    """The effect, in standard errors, whose t exceeds `critical` 9 times in 10.

    `degrees` of freedom of the error; None where they are without end.
    """
    if degrees is None:
        return critical + float(scipy.special.ndtri(POWER))

    def missing(effect: float) -> float:
        # In the right direction: the other tail finds something, but not this.
        return 1 - POWER - float(scipy.special.nctdtr(degrees, effect, critical))

    # Finding it 9 times in 10 takes an effect of little more than both quantiles together.
    return float(scipy.optimize.brentq(missing, 0.0, 3 * critical + 5))
