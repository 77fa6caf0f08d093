"""The cost of a part in words, for an interval too wide for a single figure."""

from tlslab.domain.enough import too_wide
from tlslab.domain.estimate import Estimate
from tlslab.domain.wording import figure


def uncertain_words(cost: Estimate) -> str:
    """A cost in µs whose interval is too wide for a value; empty if the interval is narrow enough.

    A part is a difference of costs. A noisy fit may give a negative value, although no part costs
    less than nothing.
    """
    if cost.low is None or cost.high is None:
        return "" if cost.value > 0 else "nothing by the fit (no interval)"
    if cost.high <= 0:
        return "nothing by the fit (95 %: below 0)"
    if cost.low <= 0:
        return f"at most {figure(cost.high)} µs (95 %: not told apart from nothing)"
    if too_wide(cost.low, cost.high):
        return f"{figure(cost.low)} to {figure(cost.high)} µs (95 %)"
    return ""
