"""Whether the rate of a trial was steady over its measurement.

Change points by PELT (Killick et al. 2012) on the logarithm of the rates of the record's slices;
labels after Barrett et al. 2017 ("Virtual Machine Warmup Blows Hot and Cold"). Cross-check: a
change counts only where MSER (White 1997) would cut off something, too, read forwards or backwards.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tlslab.model.record import Interval

Label = Literal["flat", "warm_up", "slowdown", "unstable", "too_short"]

# With fewer slices a level of three of them is already a third of the measurement.
MIN_SLICES = 10

# Levels nearer than this are one level: smaller drifts do not change a ranking.
EQUIVALENT = 0.05

_MIN_SEGMENT = 3

# In units of ln n; the usual 2 to 3 finds changes in one flat series of ten when there are only
# some twenty slices to know the noise from.
_PENALTY = 4

# Rates are counts in 100 ms: below half a percent their noise is that of counting.
_MIN_NOISE = 0.005

# MSER-5 takes batches of five; with fewer than ten such batches it takes the slices as they are.
_BATCH = 5
_MIN_BATCHES = 10

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Level:
    """A stretch of slices of one level, its mean on the logarithmic scale."""

    length: int
    mean: float


def rates(intervals: Sequence[Interval]) -> list[float]:
    """Connections per second in each slice; a cut-off last slice is left out."""
    if not intervals:
        return []
    whole = max(interval.seconds for interval in intervals) / 2
    return [each.completed / each.seconds for each in intervals if each.seconds > whole]


def classify(series: Sequence[float]) -> Label:
    """The label of a series of rates; a slice without any connection is unstable by itself."""
    if len(series) < MIN_SLICES:
        return "too_short"
    if min(series) <= 0:
        return "unstable"
    logs = np.log(np.asarray(series, dtype=np.float64))
    levels = _levels(logs)
    if len(levels) == 1 or not (_mser_cuts(logs) or _mser_cuts(logs[::-1])):
        return "flat"
    *earlier, last = levels
    if all(level.mean > last.mean for level in earlier):
        return "slowdown"
    settled = last.length >= len(logs) / 2
    if settled and all(level.mean < last.mean for level in earlier):
        return "warm_up"
    return "unstable"


def _levels(logs: Array) -> list[_Level]:
    """Stretches between the change points, neighbours joined where they are equivalent."""
    # Von Neumann's estimate: the few differences at change points hardly raise it.
    noise = max(_MIN_NOISE, float(np.diff(logs).std()) / math.sqrt(2))
    penalty = _PENALTY * math.log(len(logs))
    # Here, since it takes a second to import: every command of tlslab would wait for it.
    import ruptures

    search = ruptures.Pelt(model="l2", min_size=_MIN_SEGMENT, jump=1).fit(logs / noise)
    levels: list[_Level] = []
    start = 0
    for end in search.predict(pen=penalty):
        level = _Level(end - start, float(logs[start:end].mean()))
        start = end
        if levels and abs(level.mean - levels[-1].mean) < EQUIVALENT:
            level = _joined(levels.pop(), level)
        levels.append(level)
    return levels


def _joined(a: _Level, b: _Level) -> _Level:
    length = a.length + b.length
    return _Level(length, (a.mean * a.length + b.mean * b.length) / length)


def _mser_cuts(series: Array) -> bool:
    """Whether the marginal standard error is least after a start is cut off.

    White stops at the middle, because he wants an estimate from the rest; here the question is only
    whether there is a start that differs, and the rest may be as short as two levels.
    """
    if len(series) >= _BATCH * _MIN_BATCHES:
        whole = len(series) // _BATCH * _BATCH
        series = series[:whole].reshape(-1, _BATCH).mean(axis=1)
    errors = [
        float(np.square(series[cut:] - series[cut:].mean()).sum()) / (len(series) - cut) ** 2
        for cut in range(len(series) - 2 * _MIN_SEGMENT + 1)
    ]
    return int(np.argmin(errors)) > 0
