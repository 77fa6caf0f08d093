"""The changes of all series together, with the rate of false changes under control.

The series of a history are one family. A series has the smallest p-value of its change points; the
false discovery rate over the series (Benjamini and Hochberg) selects the series that have changed.
Within those the change points are searched once more, at the level that this leaves (Benjamini and
Bogomolov 2014, "Selective inference on multiple families of hypotheses", Journal of the Royal
Statistical Society B 76): of the series that are reported, at most 5 % on average have a false
change. Without any change at all, at most 5 % of histories report one. Both hold for independent,
normal noise. Pure.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from tlslab.analysis.stats.change_points import ChangePoint, change_points
from tlslab.analysis.stats.estimate import CONFIDENCE, Array, Interval
from tlslab.analysis.stats.families import LEVEL, false_discovery

# With fewer runs only steps of more than six standard deviations could be found.
LEAST_RUNS = 6

# Smaller changes are not reported.
SMALLEST = 0.01


@dataclass(frozen=True)
class Found:
    """The change points of a series (shape of `logs`: n), and the level at which it was judged."""

    logs: Array
    points: tuple[ChangePoint, ...]
    level: float


def find(values: Sequence[Sequence[float]], smallest: float = SMALLEST) -> list[Found]:
    """The changes of the logarithms of each series, judged as one family. All must be positive."""
    logs = [np.log(np.asarray(each, dtype=np.float64)) for each in values]
    magnitude = math.log1p(smallest)
    alone = [change_points(each, LEVEL, magnitude) for each in logs]
    adjusted = false_discovery([min((point.p for point in each), default=1.0) for each in alone])
    chosen = [p <= LEVEL for p in adjusted]
    level = LEVEL * max(1, sum(chosen)) / max(1, len(logs))
    return [
        Found(each, change_points(each, level, magnitude) if changed else (), level)
        for each, changed in zip(logs, chosen, strict=True)
    ]


def welch(before: Array, after: Array) -> Interval | None:
    """The 95 % interval of the difference of means, after - before, by Welch's t.

    None if a side has fewer than two values. Welch 1947, "The generalization of Student's problem
    when several different population variances are involved", Biometrika 34.
    """
    if min(len(before), len(after)) < 2:
        return None
    if np.ptp(before) == 0 and np.ptp(after) == 0:
        step = float(after.mean() - before.mean())
        return step, step
    with warnings.catch_warnings():
        # Bytes may be the same in all runs of a side: its variance is 0, for which scipy warns.
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        test = scipy.stats.ttest_ind(after, before, equal_var=False)
    found = test.confidence_interval(CONFIDENCE)
    return float(found.low), float(found.high)
