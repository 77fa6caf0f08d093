"""Where a server saturates: the highest load that meets an objective, from open-loop runs. Pure.

How the search of the maximum ended is reported by `model.search`, which the planner goes by.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tlslab.analysis.measures import RATE
from tlslab.analysis.stats.estimate import estimate
from tlslab.model.estimate import Estimate

Bound = Literal["exact", "at_least", "below"]


@dataclass(frozen=True)
class Loaded:
    """An offered load in connections/s, and the time in ms that the objective is about.

    `kept`: whether the server kept up with the load: the rate was achieved, hardly any
    connection failed. Without that no time meets an objective.
    """

    offered: float
    time_ms: float
    kept: bool


@dataclass(frozen=True)
class Capacity:
    """The highest load that meets an objective; at most a bound where the loads do not enclose it.

    `at_least`: met at the highest load; `below`: not met at the lowest one, which is the value.
    """

    load: Estimate
    bound: Bound


def crossing(points: Sequence[Loaded], limit_ms: float) -> tuple[float, Bound]:
    """The highest load of one series of runs that meets the limit.

    Between the last load that meets it and the first that does not, the logarithm of the time is
    taken to be linear in the load: in a queue it bends upwards, so that this is not too high by
    more than the distance of the two loads allows. Where the server did not keep up, there is no
    time to go by: the last load that met it counts. Raises ValueError without points.
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
            return point.offered, "below"
        return _between(met, point, limit_ms), "exact"
    return ordered[-1].offered, "at_least"


def _between(met: Loaded, missed: Loaded, limit_ms: float) -> float:
    if not missed.kept or met.time_ms <= 0:
        return met.offered
    # Above zero and at most one, since met.time_ms < limit_ms <= missed.time_ms.
    share = math.log(limit_ms / met.time_ms) / math.log(missed.time_ms / met.time_ms)
    return met.offered + share * (missed.offered - met.offered)


def capacity(series: Sequence[Sequence[Loaded]], limit_ms: float) -> Capacity | None:
    """The capacity over repetitions, each a series of runs at all loads; None without any.

    The interval is over the repetitions' own crossings: the unit is the repetition.
    """
    found = [crossing(points, limit_ms) for points in series if points]
    if not found:
        return None
    bounds = {bound for _, bound in found}
    values = [value for value, _ in found]
    whole = estimate(values, RATE)
    if bounds == {"exact"}:
        method = f"interpolated between loads in each of {len(values)} repetitions; {whole.method}"
        load = Estimate(whole.value, whole.low, whole.high, whole.n, RATE, method)
        return Capacity(load, "exact")
    # A bound has no interval; the lowest of the values is the one that holds for all.
    bound: Bound = "below" if "below" in bounds else "at_least"
    value = max(v for v, b in found if b == "below") if bound == "below" else min(values)
    words = {
        "below": "not met at the lowest load of a repetition",
        "at_least": "met at the highest load of a repetition",
    }
    return Capacity(Estimate(value, None, None, len(values), RATE, words[bound]), bound)
