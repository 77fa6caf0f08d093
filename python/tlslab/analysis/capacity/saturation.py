"""The capacity of a server: the highest load that meets an objective, from open-loop runs. Pure.

`model.search`, which the planner follows, reports how the search for the maximum ended.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tlslab.analysis.measures import RATE
from tlslab.analysis.stats.estimate import estimate
from tlslab.model.estimate import Estimate

Bound = Literal["exact", "between", "at_least", "below"]


@dataclass(frozen=True)
class Loaded:
    """An offered load in connections/s, and the time in ms to which the objective applies.

    `kept`: the server kept up with the load: the rate was achieved, and hardly any connection
    failed. Otherwise no time meets an objective.
    """

    offered: float
    time_ms: float
    kept: bool


@dataclass(frozen=True)
class Crossing:
    """The load, in connections/s, at which one repetition ceases to meet an objective.

    `exact`: from `load` to `end`, by two interpolations (`crossing`). `between`: at `load` or above
    it, and below `end`, a load with which the server did not keep up. `at_least`: at `load` or
    above it. `below`: below `load`.
    """

    load: float
    bound: Bound
    end: float | None = None


@dataclass(frozen=True)
class Capacity:
    """The highest load that meets an objective; only a bound if the loads do not enclose it.

    `between`: at the value or above it, and below `end`, a load with which the server did not keep
    up, so that there is no time for an interpolation. `at_least`: met at the highest load. `below`:
    not met at the lowest load, which is the value. Of the `n` repetitions, `missed` did not meet
    the objective at their lowest load, and `exceeded` met it at their highest: their crossings are
    known as bounds only.
    """

    load: Estimate
    bound: Bound
    n: int = 0
    missed: int = 0
    exceeded: int = 0
    end: float | None = None

    @property
    def is_least(self) -> bool:
        """Whether the value is a lower bound."""
        return self.bound in ("between", "at_least")

    @property
    def reservation(self) -> str:
        """The numbers of repetitions that have only a bound, in words; empty if all agree."""
        parts = []
        if 0 < self.missed < self.n:
            parts.append(f"{self.missed} of {self.n} repetitions missed it at their lowest load")
        if 0 < self.exceeded < self.n:
            parts.append(f"{self.exceeded} of {self.n} repetitions met it at their highest load")
        return ", ".join(parts)


def crossing(points: Sequence[Loaded], limit_ms: float) -> Crossing:
    """The highest load of one series of runs that meets the limit.

    Between the last load that meets the limit and the first that does not, how the time bends is
    not known. `load` takes the logarithm of the time for linear in the load: in most queues the
    logarithm bends upwards, so that `load` is rather too low. `end` takes the reciprocal of the
    time for linear, as it is for every quantile of M/M/1 and, in heavy traffic, of any queue with
    one line (Kingman 1961); `end` is never below `load`. If the server did not keep up with the
    higher load, there is no time for an interpolation. Raises ValueError without points.
    """
    ordered = sorted(points, key=lambda point: point.offered)
    if not ordered:
        raise ValueError("no loads")
    met: Loaded | None = None
    for point in ordered:
        if point.kept and point.time_ms < limit_ms:
            met = point
            continue
        if met is None:
            return Crossing(point.offered, "below")
        if not point.kept:
            return Crossing(met.offered, "between", point.offered)
        return _between(met, point, limit_ms)
    return Crossing(ordered[-1].offered, "at_least")


def _between(met: Loaded, missed: Loaded, limit_ms: float) -> Crossing:
    """The crossing by both interpolations; the limit is above the time met, at most that missed."""
    by_logarithm = 0.0
    if met.time_ms > 0:
        by_logarithm = math.log(limit_ms / met.time_ms) / math.log(missed.time_ms / met.time_ms)
    rise = (limit_ms - met.time_ms) / (missed.time_ms - met.time_ms)
    by_reciprocal = rise * (missed.time_ms / limit_ms)
    gap = missed.offered - met.offered
    load = min(met.offered + by_logarithm * gap, missed.offered)
    end = min(met.offered + by_reciprocal * gap, missed.offered)
    return Crossing(load, "exact", max(load, end))


def capacity(series: Sequence[Sequence[Loaded]], limit_ms: float) -> Capacity | None:
    """The capacity over repetitions, each a series of runs at all loads; None without any.

    The unit is the repetition: the interval is over the repetitions' own crossings. It begins where
    the interval of the crossings by the time's logarithm does, and ends where that of the crossings
    by its reciprocal does (`crossing`). The first are too low in most queues, the second too high
    in some, by more than the noise of long runs. The value is the mean of the first. The interval
    is cut at the lowest and the highest load, because no crossing can lie beyond them: Student's
    interval over few repetitions would reach above the maximum.

    If the crossing of any repetition lies between two loads without times to interpolate, the
    capacity is between the ends of all repetitions. If the loads of a repetition do not enclose its
    crossing, that crossing is censored: the capacity is then that of the median repetition, exact
    if that one's is, without an interval.
    """
    found = [crossing(points, limit_ms) for points in series if points]
    if not found:
        return None
    n = len(found)
    missed = sum(each.bound == "below" for each in found)
    exceeded = sum(each.bound == "at_least" for each in found)
    if missed or exceeded:
        middle = _median(found)
        method = f"median of {n} repetitions, some of them known as a bound only: no interval"
        load = Estimate(middle.load, None, None, n, RATE, method)
        end = middle.end if middle.bound == "between" else None
        return Capacity(load, middle.bound, n, missed, exceeded, end)
    if any(each.bound == "between" for each in found):
        method = f"the highest load at which each of {n} repetitions is known to meet the objective"
        load = Estimate(min(each.load for each in found), None, None, n, RATE, method)
        end = max(each.end for each in found if each.end is not None)
        return Capacity(load, "between", n, end=end)
    whole = estimate([each.load for each in found], RATE)
    latest = estimate([each.end for each in found if each.end is not None], RATE)
    method = (
        f"interpolated between loads in each of {n} repetitions, by the logarithm of the time, for "
        f"the upper end by its reciprocal; {whole.method}"
    )
    low, high = _within_loads(whole.low, latest.high, series)
    return Capacity(Estimate(whole.value, low, high, whole.n, RATE, method), "exact", n)


def _within_loads(
    low: float | None, high: float | None, series: Sequence[Sequence[Loaded]]
) -> tuple[float | None, float | None]:
    """The ends of an interval of crossings, cut at the lowest and the highest load."""
    if low is None or high is None:
        return None, None
    loads = [point.offered for points in series for point in points]
    return max(low, min(loads)), min(high, max(loads))


# The order of crossings that are known as bounds only, relative to the others.
_ORDER = {"below": 0, "exact": 1, "between": 1, "at_least": 2}


def _median(found: Sequence[Crossing]) -> Crossing:
    """The middle crossing; of two in the middle the lower one, as the cautious choice."""
    ordered = sorted(found, key=lambda each: (_ORDER[each.bound], each.load))
    middle = ordered[(len(ordered) - 1) // 2]
    # Of several bounds, the one that holds for most: all bounds of this kind agree with it.
    alike = [each for each in ordered if each.bound == middle.bound]
    match middle.bound:
        case "below":
            return alike[-1]
        case "at_least":
            return alike[0]
        case _:
            return middle
