"""How throughput grows with concurrency: the Universal Scalability Law, and the knee. Pure.

Gunther, "Guerrilla Capacity Planning" (2007): X(N) = l N / (1 + s (N - 1) + k N (N - 1)), with l
the throughput of one, s the contention (the share that queues for what is shared), k the
coherency (the cost of keeping any two consistent). Without k it has an asymptote, l / s; with it
a peak at N* = sqrt((1 - s) / k).

The law is fitted to logarithms, with a level of its own for each block: what made a block slow does
so at all of its concurrencies. The unit is the block: intervals are Student's over the jackknife's
pseudo-values, each the fit's change when one block is left out (Tukey 1958; Efron and Tibshirani
1993, chapter 11). With fewer than five blocks there is no interval. That of a parameter that may be
0 is cut off there.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import scipy

from tlslab.analysis.stats.estimate import CONFIDENCE, Array, estimate, mean_interval, p_value
from tlslab.domain.estimate import Estimate

# A block's throughput at each concurrency.
Block = Mapping[int, float]

_Unit = TypeVar("_Unit")

MIN_LEVELS = 4

# With two blocks an interval is so wide that any two levels look alike.
MIN_BLOCKS = 3

# With fewer blocks a fit has no interval.
MIN_BLOCKS_OF_INTERVAL = 5

# Beyond twice the highest concurrency that was measured nothing is said of a peak.
REACH = 2.0

# A concurrency counts as linear when it has so much of its share: 0.9 of N times that of one.
LINEAR = 0.9

# More than this a higher concurrency must bring to count as a gain.
LEAST_GAIN = 0.02

# A coherency below this is none.
_NO_COHERENCY = 1e-12

# Where a block lets nothing be known of a parameter, logarithms are taken of this.
_LEAST = 1e-9


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
    """The lowest concurrency that no higher one is detectably faster than (all higher ones together
    at 2.5 %).

    The upper end of its interval is the lowest concurrency above which a gain of more than
    LEAST_GAIN is excluded, by the 95 % intervals of all ratios to it. `linear_to` is the highest
    with at least 0.9 of its linear share, by the estimate. `gain` is the most that a higher
    concurrency might still bring, by the upper ends of the intervals of its throughput over the
    knee's (1.03: up to 3 %); None at the highest level.
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
    levels = sorted({level for block in blocks for level, value in block.items() if value > 0})
    if len(levels) < MIN_LEVELS:
        return None
    known = [block for block in blocks if any(value > 0 for value in block.values())]
    found = _fit(known)
    without = [_fit(rest) for rest in each_left_out(known)]
    furthest = REACH * levels[-1]
    peak_at = _peak_at(found)

    def of(part: Callable[[Array], float], unit: str, may_be_zero: bool = False) -> Estimate:
        left_out = [part(each) for each in without]
        return jackknifed(part(found), left_out, unit, "fit of logarithms", may_be_zero)

    def highest(parameters: Array) -> float:
        return law_value(parameters.tolist(), min(_peak_at(parameters), furthest))

    return Law(
        per_one=of(lambda each: float(each[0]), "1/s"),
        contention=of(lambda each: float(each[1]), "", may_be_zero=True),
        coherency=of(lambda each: float(each[2]), "", may_be_zero=True),
        peak_at=of(lambda each: min(_peak_at(each), furthest), "threads")
        if peak_at <= furthest
        else None,
        peak=of(highest, "1/s"),
        r_squared=_r_squared(known, found),
    )


def fitted_peak(blocks: Sequence[Block]) -> float | None:
    """The peak of the scalability law through all blocks, as `Law.peak`; None without one."""
    levels = sorted({level for block in blocks for level, value in block.items() if value > 0})
    if len(levels) < MIN_LEVELS:
        return None
    found = _fit([block for block in blocks if any(value > 0 for value in block.values())])
    return law_value(found.tolist(), min(_peak_at(found), REACH * levels[-1]))


def _fit(blocks: Sequence[Block]) -> Array:
    """l, s and k by least squares of logarithms; s and k from the differences within blocks."""
    values = [
        (number, n, x)
        for number, block in enumerate(blocks)
        for n, x in sorted(block.items())
        if x > 0
    ]
    of_block = np.array([number for number, _, _ in values])
    n = np.array([n for _, n, _ in values])
    each = np.array([x / n for _, n, x in values])
    logs = np.log(each)
    sizes = np.bincount(of_block)
    queued, paired = n - 1, n * (n - 1)

    def means(column: Array) -> Array:
        return np.bincount(of_block, column) / sizes

    def residuals(shape: Array) -> Array:
        whole = logs + np.log1p(shape[0] * queued + shape[1] * paired)
        return np.asarray(whole - means(whole)[of_block])

    def slopes(shape: Array) -> Array:
        load = 1 + shape[0] * queued + shape[1] * paired
        columns = (queued / load, paired / load)
        return np.stack([column - means(column)[of_block] for column in columns], axis=1)

    start = _first_guess(each, queued, paired)
    fit = scipy.optimize.least_squares(
        residuals, start, slopes, bounds=([0, 0], [np.inf, np.inf]), x_scale=[0.1, 0.001]
    )
    levels = means(logs + np.log1p(fit.x[0] * queued + fit.x[1] * paired))
    return np.array([math.exp(float(levels.mean())), *fit.x])


def _first_guess(each: Array, queued: Array, paired: Array) -> tuple[float, float]:
    """S and k by least squares of relative errors: N / X is linear in 1/l, s/l and k/l.

    `each` is X / N, the factors of s and k are `queued` and `paired`.
    """
    parts = np.stack([each, each * queued, each * paired], axis=1)
    (base, contention, coherency), _ = scipy.optimize.nnls(parts, np.ones(len(each)))
    if base <= 0:
        return 0.5, 0.01
    return max(contention / base, 1e-6), max(coherency / base, 1e-9)


def _peak_at(parameters: Array) -> float:
    _, contention, coherency = parameters
    if coherency <= _NO_COHERENCY:
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
    at = _knee(blocks, levels)
    last = next(level for level in levels if _excludes_gain(blocks, levels, level))
    higher = [_gain_bound(blocks, at, level) for level in levels if level > at]
    bounds = [bound for bound in higher if bound is not None]
    method = (
        f"no higher one detectably faster; above the second a gain of {LEAST_GAIN:.0%} excluded"
    )
    return Knee(
        at=Estimate(at, at, max(at, last), len(blocks), "threads", method),
        linear_to=_linear_to(blocks, levels),
        gain=math.exp(max(bounds)) if bounds else None,
        at_end=at == levels[-1],
    )


def _excludes_gain(blocks: Sequence[Block], levels: Sequence[int], level: int) -> bool:
    """Whether no higher concurrency can bring more than LEAST_GAIN; true of the highest."""
    bounds = [_gain_bound(blocks, level, higher) for higher in levels if higher > level]
    return all(bound is not None and bound <= math.log1p(LEAST_GAIN) for bound in bounds)


def _knee(blocks: Sequence[Block], levels: Sequence[int]) -> int:
    """The lowest level that no higher one is detectably faster than.

    The higher ones are one family, and the error is one-sided: a level is passed over wrongly only
    if one of them is falsely faster. Levels are tried from below, and the first that is not passed
    over ends it, so that they need no adjustment among each other.
    """
    for level in levels[:-1]:
        above = [_ratios(blocks, level, higher) for higher in levels if higher > level]
        if not _any_faster([logs for logs in above if len(logs)]):
            return level
    return levels[-1]


def _any_faster(above: Sequence[Array]) -> bool:
    """Whether one of these is faster, at 2.5 % for all of them (Holm's first step: Bonferroni)."""
    tested = [(p, logs) for logs in above if (p := p_value(logs)) is not None]
    return any(p <= (1 - CONFIDENCE) / len(tested) and logs.mean() > 0 for p, logs in tested)


def _ratios(blocks: Sequence[Block], low: int, high: int) -> Array:
    return np.array(
        [math.log(block[high] / block[low]) for block in blocks if low in block and high in block]
    )


def _gain_bound(blocks: Sequence[Block], low: int, high: int) -> float | None:
    """The upper end of the interval of the logarithm of the gain; None without an interval."""
    logs = _ratios(blocks, low, high)
    if not len(logs):
        return None
    _, interval, _ = mean_interval(logs)
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


def each_left_out(blocks: Sequence[_Unit]) -> list[list[_Unit]]:
    """The blocks without one of them, for each; none where an interval needs more of them."""
    if len(blocks) < MIN_BLOCKS_OF_INTERVAL:
        return []
    return [[*blocks[:i], *blocks[i + 1 :]] for i in range(len(blocks))]


def jackknifed(
    value: float, without: Sequence[float], unit: str, what: str, may_be_zero: bool = False
) -> Estimate:
    """A number made of all blocks, with Student's interval over the pseudo-values.

    `without` are the numbers that are made when each of the blocks is left out; `what` says in
    words how. The pseudo-values are of logarithms, except those of a number that may be 0.
    """
    n = len(without)
    if not n:
        few = f"fewer than {MIN_BLOCKS_OF_INTERVAL} blocks: no interval"
        return Estimate(value, None, None, n, unit, few)

    def scaled(number: float) -> float:
        return number if may_be_zero else math.log(max(number, _LEAST))

    # A pseudo-value is n times the whole's number minus n - 1 times the number without a block.
    spread = (n - 1) * float(np.array([scaled(each) for each in without]).std(ddof=1))
    t = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, n - 1))
    half = t * spread / math.sqrt(n)
    method = f"{what}; jackknife over {n} blocks, Student t, 95 %"
    if may_be_zero:
        low, high = max(0.0, value - half), value + half
    else:
        low, high = value * math.exp(-half), value * math.exp(half)
    return Estimate(value, low, high, n, unit, method)


def ratio(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> Estimate | None:
    """One over the other in each block that has both; None when none has."""
    values = [x / denominator[block] for block, x in numerator.items() if block in denominator]
    return estimate(values, "") if values else None
