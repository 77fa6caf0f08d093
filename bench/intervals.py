"""Means and ratios over blocks: the lab's own intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tlslab.analysis.compare import paired_logs
from tlslab.analysis.stats.estimate import mean_interval


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval; with one block only, the bounds are the value itself."""

    value: float
    low: float
    high: float
    n: int

    def __format__(self, spec: str) -> str:
        return f"{self.value:{spec}} ({self.low:{spec}}-{self.high:{spec}})"


def mean(values: Sequence[float]) -> Interval:
    """The geometric mean of one positive value per block."""
    return _of_logs(np.log(np.asarray(values, dtype=np.float64)))


def share(values: Sequence[float]) -> Interval:
    """The arithmetic mean of one share (0 to 1) per block; the bounds stay within that range."""
    centre, interval, _ = mean_interval(np.asarray(values, dtype=np.float64), "values")
    low, high = interval or (centre, centre)
    return Interval(centre, max(low, 0.0), min(high, 1.0), len(values))


def ratio(candidate: Mapping[int, float], baseline: Mapping[int, float]) -> Interval:
    """Candidate over baseline, paired by block."""
    return _of_logs(paired_logs(candidate, baseline))


def _of_logs(logs: "np.typing.NDArray[np.float64]") -> Interval:
    centre, interval, _ = mean_interval(logs, "log values")
    low, high = interval or (centre, centre)
    return Interval(math.exp(centre), math.exp(low), math.exp(high), len(logs))
