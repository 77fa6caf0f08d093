"""Change points of a series: where its mean moved, by the E-divisive means with a t-test. Pure.

The method of Fleming et al. 2023, "Hunter: Using Change Point Detection to Hunt for Performance
Regressions" (ICPE '23), as Apache Otava has it. Candidates come from the energy statistic of
Matteson and James 2014, "A Nonparametric Approach for Multiple Change Point Analysis of
Multivariate Data" (Journal of the American Statistical Association 109); Student's t-test takes the
place of their permutations, so that the same series gives the same answer. Windows that overlap are
split with a weak level first; then neighbours are merged until every change point left passes the
strict level and the smallest magnitude. Windows start at the first value, so that appended values
leave the earlier ones as they are.

Different from Otava:

- p-values are multiplied by the number of values (Bonferroni): the place is the one with the
  largest contrast of all. With this factor a series without any change has a change point at a
  level of 5 % in at most 5 % of cases (test_change_points.py, test_error_rates.py).
- A candidate passes the first pass, too, when the t-test sees it in the two pieces that diverge
  most, and not only in the whole segment. A dip of one or two runs is hidden in the mean of all
  that follows: without this it is found in one series of a hundred, with it in eight of ten.
- Standard deviations are those of a sample (n - 1).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy

from tlslab.analysis.stats.estimate import Array

# Otava's window. A longer one finds smaller steps, but hides a dip between two equal levels.
WINDOW = 50

# The level of the first pass: Otava's, ten times 0.001. It yields candidates only.
WEAK = 0.01


@dataclass(frozen=True)
class ChangePoint:
    """The mean differs from `index` on (the first value after the change, counted from 0).

    `p` is Student's p-value for the segments on both sides, times the number of values.
    """

    index: int
    p: float


def change_points(values: Array, level: float, magnitude: float = 0.0) -> tuple[ChangePoint, ...]:
    """The change points of `values` (shape: n) at an adjusted level, in their order.

    `magnitude`: the smallest difference of the means of two neighbouring segments, in the unit of
    the values, that counts.
    """
    return _merged(values, _candidates(values), level, magnitude)


def segments(values: Array, points: Sequence[int]) -> list[Array]:
    """The values between the change points, in order."""
    return np.split(values, list(points))


def _candidates(values: Array) -> list[int]:
    """The first pass: weak change points of all windows, each half a window after the last."""
    found: set[int] = set()
    start = 0
    while start < len(values):
        window = [start + index for index in _divided(values[start : start + WINDOW])]
        found.update(window)
        start = max(start + WINDOW // 2, *window) if window else start + WINDOW // 2
    return sorted(found)


def _divided(values: Array) -> list[int]:
    """Splits the segment with the largest divergence, again and again, while the t-test passes."""
    points: list[int] = []
    while True:
        edges = [0, *points, len(values)]
        best = max(
            (
                (*_divergence(values[start:end]), start, end)
                for start, end in pairwise(edges)
                if end - start >= 2
            ),
            default=None,
        )
        if best is None:
            return points
        _, at, upto, start, end = best
        before = values[start : start + at]
        after = values[start + at : start + upto], values[start + at : end]
        if min(student_p(before, each) for each in after) > WEAK:
            return points
        points = sorted([*points, start + at])


def _divergence(values: Array) -> tuple[float, int, int]:
    """The largest energy divergence of two pieces, with the start and the end of the second one.

    Matteson and James 2014, equations 5 to 7, with exponent 1. The second piece may end before the
    last value, so that a change that was undone later is seen.
    """
    n = len(values)
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = np.abs(values[:, None] - values[None, :]).cumsum(axis=0).cumsum(axis=1)
    square = np.diag(sums)
    at, end = np.arange(1, n)[:, None], np.arange(2, n + 1)[None, :]
    left, right = at, end - at
    between = sums[1:n, 2:] - square[1:n, None]
    within_left = square[1:n, None] / np.maximum(left * (left - 1), 1)
    within_right = (square[None, 2:] - 2 * sums[1:n, 2:] + square[1:n, None]) / np.maximum(
        right * (right - 1), 1
    )
    pairs = np.maximum(left * right, 1)
    found = pairs / end * (2 * between / pairs - within_left - within_right)
    found[right < 1] = -np.inf
    row, column = divmod(int(np.argmax(found)), found.shape[1])
    return float(found[row, column]), row + 1, column + 2


def student_p(left: Array, right: Array) -> float:
    """The two-sided p-value of Student's t-test for equal means, with the pooled variance.

    A side may have a single value, because the other side provides the variance; 1 if neither does.
    """
    degrees = len(left) + len(right) - 2
    if degrees < 1:
        return 1.0
    squares = float(((left - left.mean()) ** 2).sum() + ((right - right.mean()) ** 2).sum())
    error = math.sqrt(squares / degrees * (1 / len(left) + 1 / len(right)))
    distance = abs(float(left.mean() - right.mean()))
    if error == 0:
        return 1.0 if distance == 0 else 0.0
    return 2 * float(scipy.special.stdtr(degrees, -distance / error))


def _merged(
    values: Array, candidates: Sequence[int], level: float, magnitude: float
) -> tuple[ChangePoint, ...]:
    """Removes the weakest point until all remaining points pass level and magnitude."""
    points = list(candidates)
    while points:
        parts = segments(values, points)
        sides = list(pairwise(parts))
        p_values = [min(1.0, len(values) * student_p(*side)) for side in sides]
        steps = [abs(float(right.mean() - left.mean())) for left, right in sides]
        if max(p_values) > level:
            points.pop(int(np.argmax(p_values)))
        elif min(steps) < magnitude:
            points.pop(int(np.argmin(steps)))
        else:
            return tuple(ChangePoint(*each) for each in zip(points, p_values, strict=True))
    return ()


def findable(values: Array, points: Sequence[int], level: float, power: float = 0.9) -> float:
    """The step in the middle of the series that is found with this power at an adjusted level.

    In the unit of the values, for independent normal noise of the size that the segments have
    (noncentral t). Infinite if no noise can be estimated.
    """
    n, parts = len(values), segments(values, points)
    degrees = n - len(parts)
    if degrees < 1:
        return math.inf
    squares = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    critical = float(scipy.special.stdtrit(n - 2, 1 - level / (2 * n)))
    shift = float(scipy.special.nctdtrinc(n - 2, 1 - power, critical))
    return shift * math.sqrt(squares / degrees * (1 / (n // 2) + 1 / (n - n // 2)))
