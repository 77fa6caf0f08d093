"""How throughput grows with concurrency: the Universal Scalability Law, and the knee. Pure.

Gunther, "Guerrilla Capacity Planning" (2007): X(N) = l N / (1 + s (N - 1) + k N (N - 1)), with l
the throughput of one, s the contention (the share that queues for what is shared), k the
coherency (the cost of keeping any two consistent). Without k it has an asymptote, l / s; with it
a peak at N* = sqrt((1 - s) / k).

The unit is the block: bootstrap intervals are over blocks drawn with replacement, each with all its
values, so that what disturbed one block does so at all of its levels.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from tlslab.analysis.stats.estimate import Array, estimate, mean_interval
from tlslab.model.estimate import Estimate

# A block's throughput at each concurrency.
Block = Mapping[int, float]

MIN_LEVELS = 4

# With two blocks an interval is so wide that any two levels look alike.
MIN_BLOCKS = 3

# Beyond twice the highest concurrency that was measured nothing is said of a peak.
REACH = 2.0

# A concurrency counts as linear when it has so much of its share: 0.9 of N times that of one.
LINEAR = 0.9

_RESAMPLES = 400
_SEED = 20_240_117


@dataclass(frozen=True)
class Law:
    """The fitted law: `per_one` is l, in operations per second; `r_squared` is of log values."""

    per_one: Estimate
    contention: Estimate
    coherency: Estimate
    peak_at: Estimate | None
    peak: Estimate
    r_squared: float

    def at(self, concurrency: float) -> float:
        """The throughput that the law gives."""
        return law_value(
            (self.per_one.value, self.contention.value, self.coherency.value), concurrency
        )


@dataclass(frozen=True)
class Knee:
    """The lowest concurrency that no higher one is detectably faster than.

    `linear_to` is the highest with at least 0.9 of its linear share, by the estimate. `gain` is the
    most that a higher concurrency might still bring, by the upper ends of the intervals of its
    throughput over the knee's (1.03: up to 3 %); None at the highest level.
    """

    at: Estimate
    linear_to: int
    gain: float | None
    at_end: bool


def law_value(parameters: Sequence[float], concurrency: float) -> float:
    """X(N)."""
    one, contention, coherency = parameters
    n = concurrency
    return one * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def fit_law(blocks: Sequence[Block]) -> Law | None:
    """The law through all blocks' values; None with fewer than four levels."""
    levels = sorted({level for block in blocks for level in block})
    if len(levels) < MIN_LEVELS:
        return None
    try:
        found = _fit(blocks)
    except ValueError:
        return None
    resampled = [_fit(sample) for sample in _resamples(blocks)]
    n = len(blocks)
    furthest = REACH * levels[-1]
    peaks = [min(_peak_at(each), furthest) for each in resampled]
    peak_at = _peak_at(found)

    def of(index: int, unit: str) -> Estimate:
        return _interval(float(found[index]), [float(each[index]) for each in resampled], n, unit)

    def highest(parameters: Array) -> float:
        return law_value(parameters.tolist(), min(_peak_at(parameters), furthest))

    return Law(
        per_one=of(0, "1/s"),
        contention=of(1, ""),
        coherency=of(2, ""),
        peak_at=_interval(peak_at, peaks, n, "threads") if peak_at <= furthest else None,
        peak=_interval(highest(found), [highest(each) for each in resampled], n, "1/s"),
        r_squared=_r_squared(blocks, found),
    )


def _fit(blocks: Sequence[Block]) -> Array:
    """Least squares of relative errors: N / X is linear in 1/l, s/l and k/l, none below zero."""
    pairs = [(n, x) for block in blocks for n, x in block.items() if x > 0]
    concurrency = np.array([n for n, _ in pairs], dtype=np.float64)
    each = np.array([x for _, x in pairs], dtype=np.float64) / concurrency
    parts = np.stack(
        [each, each * (concurrency - 1), each * concurrency * (concurrency - 1)], axis=1
    )
    (base, contention, coherency), _ = scipy.optimize.nnls(parts, np.ones(len(pairs)))
    if base <= 0:
        raise ValueError("throughput falls faster than any law")
    return np.array([1 / base, contention / base, coherency / base])


def _peak_at(parameters: Array) -> float:
    _, contention, coherency = parameters
    if coherency <= 1e-12:
        return math.inf
    return max(1.0, math.sqrt(max(0.0, 1 - contention) / coherency))


def _r_squared(blocks: Sequence[Block], parameters: Array) -> float:
    pairs = [(n, x) for block in blocks for n, x in block.items() if x > 0]
    logs = np.log([x for _, x in pairs])
    fitted = np.log([law_value(parameters.tolist(), n) for n, _ in pairs])
    spread = float(((logs - logs.mean()) ** 2).sum())
    return 1 - float(((logs - fitted) ** 2).sum()) / spread if spread > 0 else 1.0


def find_knee(blocks: Sequence[Block]) -> Knee | None:
    """The knee; None with fewer than two levels or three blocks: nothing would be detectable."""
    levels = sorted({level for block in blocks for level in block})
    if len(levels) < 2 or len(blocks) < MIN_BLOCKS:
        return None
    at = _knee(blocks, levels, _detectable)
    # In a resample the means decide: its blocks are not independent, its intervals would be wrong.
    resampled = [_knee(sample, levels, _larger) for sample in _resamples(blocks)]
    higher = [_gain_bound(blocks, at, level) for level in levels if level > at]
    bounds = [bound for bound in higher if bound is not None]
    return Knee(
        at=_interval(at, resampled, len(blocks), "threads"),
        linear_to=_linear_to(blocks, levels),
        gain=math.exp(max(bounds)) if bounds else None,
        at_end=at == levels[-1],
    )


def _knee(blocks: Sequence[Block], levels: Sequence[int], faster: Callable[[Array], bool]) -> int:
    for level in levels[:-1]:
        above = [_ratios(blocks, level, higher) for higher in levels if higher > level]
        if not any(faster(logs) for logs in above if len(logs)):
            return level
    return levels[-1]


def _ratios(blocks: Sequence[Block], low: int, high: int) -> Array:
    return np.array(
        [math.log(block[high] / block[low]) for block in blocks if low in block and high in block]
    )


def _detectable(logs: Array) -> bool:
    _, interval, _ = mean_interval(logs, "log ratios")
    return interval is not None and interval[0] > 0


# What a resample must gain on average to count as gaining at all.
_LEAST_GAIN = math.log(1.02)


def _larger(logs: Array) -> bool:
    return float(logs.mean()) > _LEAST_GAIN


def _gain_bound(blocks: Sequence[Block], low: int, high: int) -> float | None:
    """The upper end of the interval of the logarithm of the gain; None without an interval."""
    logs = _ratios(blocks, low, high)
    if not len(logs):
        return None
    _, interval, _ = mean_interval(logs, "log ratios")
    return None if interval is None else interval[1]


def _linear_to(blocks: Sequence[Block], levels: Sequence[int]) -> int:
    """The highest level up to which all have their share of the lowest one's throughput."""
    reached = levels[0]
    for level in levels[1:]:
        logs = _ratios(blocks, levels[0], level)
        if not len(logs) or math.exp(float(logs.mean())) < LINEAR * level / levels[0]:
            break
        reached = level
    return reached


def _resamples(blocks: Sequence[Block]) -> list[list[Block]]:
    draw = np.random.default_rng(_SEED)
    if len(blocks) < 2:
        return []
    return [
        [blocks[i] for i in draw.integers(0, len(blocks), len(blocks))] for _ in range(_RESAMPLES)
    ]


def _interval(value: float, resampled: Sequence[float], n: int, unit: str) -> Estimate:
    if n < 2 or not resampled:
        return Estimate(value, None, None, n, unit, "one block: no interval")
    low, high = np.percentile(resampled, [2.5, 97.5])
    method = f"percentile bootstrap over {n} blocks, 95 %"
    return Estimate(value, min(value, float(low)), max(value, float(high)), n, unit, method)


def ratio(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> Estimate | None:
    """One over the other in each block that has both; None when none has."""
    values = [x / denominator[block] for block, x in numerator.items() if block in denominator]
    return estimate(values, "") if values else None
