"""Classification of a trial's rate over its measurement: steady or not.

Slices are correlated with their neighbours: a garbage collector, a cache, a neighbour on the host
act for longer than a slice. A series without any change then looks as if it had levels. PELT
(Killick et al. 2012) on the logarithm of the rates therefore only proposes change points, for
several degrees of autocorrelation. The likelihood of each proposal, with heavy-tailed AR(1) noise,
decides: a change counts if it explains more than autocorrelation does (Shi, Gallagher, Lund and
Killick 2022, "A comparison of single and multiple changepoint techniques for time series data",
Computational Statistics and Data Analysis 170). A straight line is one more proposal, for slow
drifts. The innovations of the noise have Student's t-distribution with four degrees of freedom, so
that a single burst has little weight; by least squares, the decay of a burst would pass for a
level. The fit is by iteratively reweighted least squares (Lange, Little and Taylor 1989, "Robust
statistical modeling using the t distribution", Journal of the American Statistical Association 84).
Labels after Barrett et al. 2017 ("Virtual Machine Warmup Blows Hot and Cold").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Literal

import numpy as np

from tlslab.contract.record import Interval
from tlslab.domain.autoregression import Array, transformed

Label = Literal["flat", "warm_up", "slowdown", "unstable", "too_short"]

# With fewer slices, a level of three slices would be a third of the measurement.
MIN_SLICES = 10

# On average, in a slice: slices of a slow server are joined until they have as many. With fewer, a
# slice without any connection says nothing about the rate.
LEAST_COMPLETED = 10

# Changes smaller than this do not change a ranking; larger ones are found before they are 5 %.
EQUIVALENT = 0.03

# Levels that the rate leaves again count only if, together, they move the mean of the run by more.
# A long run on a shared machine has dips of half a second that say nothing about its rate.
PASSING = 0.01

_MIN_SEGMENT = 3

# PELT's own penalty, in units of ln n; it only limits the number of proposals.
_PROPOSED = 4

# The coefficients of AR(1) noise for which PELT is scaled.
_COEFFICIENTS = (0.0, 0.3, 0.6, 0.8)

# The required rise of twice the log-likelihood, for each change point and for a line. With these,
# of 1,000 series of AR(1) noise without any change, with a coefficient of 0.8 at most, 5 % at most
# get a label other than flat (tests, and docs/validity-coverage.md).
_CHANGE_POINT = 15.0
_LINE = 12.0

# Rates are counts in 100 ms: their innovations cannot be smaller than this.
_MIN_NOISE = 0.002


@dataclass(frozen=True)
class _Level:
    """A stretch of slices of one level, its mean on the logarithmic scale."""

    length: int
    mean: float


def rates(intervals: Sequence[Interval], least: int = LEAST_COMPLETED) -> list[float]:
    """Connections per second in each of the joined slices."""
    return [
        sum(i.completed for i in each) / sum(i.seconds for i in each)
        for each in joined(intervals, least)
    ]


def joined(intervals: Sequence[Interval], least: int = LEAST_COMPLETED) -> list[Sequence[Interval]]:
    """The slices, as many together as have `least` connections on average.

    A cut-off last slice is left out, and slices at the end that are too few for another joined one.
    """
    longest = max((each.seconds for each in intervals), default=0.0)
    whole = [each for each in intervals if each.seconds > longest / 2]
    completed = sum(each.completed for each in whole)
    size = max(1, math.ceil(least * len(whole) / completed)) if completed else 1
    return [whole[at : at + size] for at in range(0, len(whole) - size + 1, size)]


def classify(series: Sequence[float]) -> Label:
    """The label of a series of rates; a slice without any connection is unstable by itself."""
    if len(series) < MIN_SLICES:
        return "too_short"
    if min(series) <= 0:
        return "unstable"
    return _classified(tuple(series))


# A run that ends when its answer is known judges all of its trials before each block.
@lru_cache(maxsize=10_000)
def _classified(series: tuple[float, ...]) -> Label:
    """The label of a series of positive rates."""
    logs = np.log(np.asarray(series, dtype=np.float64))
    levels, drift = _explained(logs)
    if drift:
        # A rate that rises until the end has reached no level.
        return "slowdown" if drift < 0 else "unstable"
    levels = _lasting(levels)
    if len(levels) == 1:
        return "flat"
    *earlier, last = levels
    if all(level.mean > last.mean for level in earlier):
        return "slowdown"
    settled = last.length >= len(logs) / 2
    if settled and all(level.mean < last.mean for level in earlier):
        return "warm_up"
    return "unstable"


def _lasting(levels: Sequence[_Level]) -> list[_Level]:
    """The levels without those between others that move the mean by PASSING at most, together."""
    left, moved = list(levels), 0.0
    slices = sum(level.length for level in left)
    while len(left) > 2:
        around = [_joined(a, b) for a, b in zip(left, left[2:], strict=False)]
        moves = [
            each.length * abs(each.mean - beside.mean) / slices
            for each, beside in zip(left[1:], around, strict=False)
        ]
        at = moves.index(min(moves))
        moved += moves[at]
        if moved > PASSING:
            break
        before, after = left[at], left[at + 2]
        near = abs(before.mean - after.mean) < EQUIVALENT
        left[at : at + 3] = [around[at]] if near else [before, after]
    return left


def _explained(logs: Array) -> tuple[list[_Level], float]:
    """The levels, and the change of a line from start to end if the line explains the series best.

    The change is 0 if it does not.
    """
    n = len(logs)
    flat = np.ones((n, 1))
    best, _ = likelihood(logs, flat, _MIN_NOISE)
    levels, drift = _cut(logs, ()), 0.0
    line = np.column_stack([flat, np.linspace(-0.5, 0.5, n)])
    found, parameters = likelihood(logs, line, _MIN_NOISE)
    if abs(parameters[1]) >= EQUIVALENT and found - _LINE > best:
        best, drift = found - _LINE, float(parameters[1])
    for cuts in _proposals(logs):
        found, _ = likelihood(logs, _steps(n, cuts), _MIN_NOISE)
        found -= _CHANGE_POINT * len(cuts)
        if found > best:
            best, levels, drift = found, _cut(logs, cuts), 0.0
    return levels, drift


def _proposals(logs: Array) -> set[tuple[int, ...]]:
    """Possible change points; levels closer than EQUIVALENT are joined."""
    # Imported here because the import takes a second, which every command of tlslab would wait for.
    import ruptures

    n = len(logs)
    # Von Neumann's estimate: the few differences at change points hardly raise it. With AR(1) noise
    # it is twice the variance times 1 - f; the long-run variance is (1 + f) / (1 - f) times that.
    noise = max(_MIN_NOISE, float(np.diff(logs).std()) / math.sqrt(2))
    # KernelCPD with its own kernel, the linear one, is PELT on means; the class Pelt is the same
    # without compiled code.
    search = ruptures.KernelCPD(min_size=_MIN_SEGMENT).fit(logs)
    found = {_best_single(logs)}
    for f in _COEFFICIENTS:
        penalty = _PROPOSED * math.log(n) * noise**2 * (1 + f) / (1 - f) ** 2
        found.add(tuple(search.predict(pen=penalty)[:-1]))
    return {joined for cuts in found if (joined := _ends(_cut(logs, cuts)))}


def _best_single(logs: Array) -> tuple[int, ...]:
    """The one change point that leaves the least scatter around two levels."""
    n = len(logs)
    cuts = np.arange(_MIN_SEGMENT, n - _MIN_SEGMENT + 1)
    before = np.cumsum(logs)[cuts - 1] / cuts
    after = (logs.sum() - before * cuts) / (n - cuts)
    return (int(cuts[np.argmax((before - after) ** 2 * cuts * (n - cuts))]),)


def _steps(n: int, cuts: Sequence[int]) -> Array:
    """A column for each level: 1 in its slices (n, levels)."""
    number = np.searchsorted(cuts, np.arange(n), side="right")
    return np.eye(len(cuts) + 1)[number]


def _cut(logs: Array, cuts: Sequence[int]) -> list[_Level]:
    """The levels between the change points, neighbours joined where they are equivalent."""
    levels: list[_Level] = []
    for start, end in pairwise((0, *cuts, len(logs))):
        level = _Level(end - start, float(logs[start:end].mean()))
        if levels and abs(level.mean - levels[-1].mean) < EQUIVALENT:
            level = _joined(levels.pop(), level)
        levels.append(level)
    return levels


def _ends(levels: Sequence[_Level]) -> tuple[int, ...]:
    """The change points between levels."""
    return tuple(accumulate(level.length for level in levels))[:-1]


def _joined(a: _Level, b: _Level) -> _Level:
    length = a.length + b.length
    return _Level(length, (a.mean * a.length + b.mean * b.length) / length)


_FREEDOM = 4.0

_ROUNDS = 6

_FITTED_COEFFICIENTS = np.arange(10) / 10

# For a coefficient near 1 the columns of the design can almost vanish.
_RIDGE = 1e-12


def likelihood(values: Array, design: Array, least: float) -> tuple[float, Array]:
    """Twice the log-likelihood of the best fit over all coefficients, and its parameters (k,).

    `values` (n,) by the columns of `design` (n, k); up to a constant that is the same for all
    designs. `least`: the smallest plausible scale of the innovations.
    """
    n, k = design.shape
    y = transformed(values[:, None], _FITTED_COEFFICIENTS)[..., 0]
    x = transformed(design, _FITTED_COEFFICIENTS)
    weights = np.ones_like(y)
    for _ in range(_ROUNDS):
        weighted = x * weights[..., None]
        squares = np.einsum("pni,pnj->pij", weighted, x) + _RIDGE * np.eye(k)
        products = np.einsum("pni,pn->pi", weighted, y)
        parameters = np.linalg.solve(squares, products[..., None])[..., 0]
        residuals = np.square(y - np.einsum("pni,pi->pn", x, parameters))
        scale = np.maximum((weights * residuals).mean(axis=1), least**2)
        weights = (_FREEDOM + 1) / (_FREEDOM + residuals / scale[:, None])
    tails = np.log1p(residuals / (_FREEDOM * scale[:, None])).sum(axis=1)
    stationary = np.log(1 - _FITTED_COEFFICIENTS**2)
    found = stationary - n * np.log(scale) - (_FREEDOM + 1) * tails
    best = int(found.argmax())
    return float(found[best]), parameters[best]
