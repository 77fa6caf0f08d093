"""The sources of a rate's noise: the trial, and the start of its server. Pure.

In a block each deployment is started once, and each of its cells has one trial on that start. The
logarithm of a rate is then

    cell + block + start (of the block and the deployment) + trial (of the block and the cell).

The block's part is common to all cells and cancels in every comparison. The start's part cancels in
comparisons of cells that share the start, and stays in all others. By analysis of variance (Searle,
Casella and McCulloch 1992, "Variance Components", chapter 4), with B blocks, D deployments and C_d
cells of each: the mean square of trials within starts, with (B - 1) sum(C_d - 1) degrees of
freedom, estimates t; the mean square of the means of the starts, with (B - 1)(D - 1) degrees of
freedom, estimates s + t mean(1/C_d).

Limits of the design: with one deployment the start's part is the same in the whole block, and no
comparison contains it. With one cell of each deployment the start's part cannot be separated from
the trial's part; every comparison contains both, so that only their sum matters.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from tlslab.analysis.stats.estimate import CONFIDENCE, Array

_TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)


@dataclass(frozen=True)
class Component:
    """A variance of logarithms with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Components:
    """The variance of one trial, and the additional variance of one start.

    `start` is None if it cannot be separated: with one deployment no comparison contains it, with
    one cell of each deployment it is part of `trial`.
    """

    trial: Component
    start: Component | None


@dataclass(frozen=True)
class _Square:
    """A sum of squares and its degrees of freedom."""

    sum: float
    degrees: int

    @property
    def mean(self) -> float:
        return self.sum / self.degrees


def components(
    logs: Mapping[str, Sequence[float]], starts: Mapping[str, Hashable]
) -> Components | None:
    """The components, from the logarithms of each cell's rates: one per block, in the same order.

    `starts` says which cells share a start. None with fewer than two blocks or cells.
    """
    groups: dict[Hashable, list[Sequence[float]]] = {}
    for cell, values in logs.items():
        groups.setdefault(starts[cell], []).append(values)
    arrays = [np.array(group, dtype=np.float64) for group in groups.values()]
    if len(logs) < 2 or arrays[0].shape[1] < 2:
        return None
    within = [_interaction(array) for array in arrays]
    trial = _Square(sum(each.sum for each in within), sum(each.degrees for each in within))
    start = _interaction(np.array([array.mean(axis=0) for array in arrays]))
    if not trial.degrees:
        return Components(_by_chi_squared(start), None)
    found = _by_chi_squared(trial)
    if not start.degrees:
        return Components(found, None)
    share = float(np.mean([1 / len(array) for array in arrays]))
    return Components(found, _difference(start, trial, share))


def _interaction(values: Array) -> _Square:
    """The residuals of a table, rows by blocks, after removal of the means of both."""
    rows, blocks = values.shape
    left = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    return _Square(float((left**2).sum()), (rows - 1) * (blocks - 1))


def _by_chi_squared(square: _Square) -> Component:
    low, high = (float(scipy.stats.chi2.ppf(share, square.degrees)) for share in _TAILS)
    return Component(square.mean, square.sum / high, square.sum / low)


def _difference(start: _Square, trial: _Square, share: float) -> Component:
    """The start's variance: the mean square of starts minus the trial's share of it.

    The interval is that of Williams 1962 ("A confidence interval for variance components",
    Biometrika 49): each end uses the quantiles of chi-squared and of F, so that its error is at
    most 10 %, in simulations 5 % or less. Exact for equal numbers of cells only.
    """
    if not start.sum:
        return Component(0.0, 0.0, 0.0)
    inverse = share * trial.mean / start.mean
    ends = []
    for tail in _TAILS[::-1]:
        quotient = float(scipy.stats.f.ppf(tail, start.degrees, trial.degrees))
        square = float(scipy.stats.chi2.ppf(tail, start.degrees))
        ends.append(max(0.0, start.sum * (1 - quotient * inverse) / square))
    return Component(max(0.0, start.mean - share * trial.mean), *ends)
