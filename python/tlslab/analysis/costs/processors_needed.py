"""The number of processors for a load, or the load for a number of processors, by a model. Pure.

There are two limits. No processor may be busier than a given share of its time. If response times
have an objective, the queue M/M/n of the load must meet it (stats.queue). There a connection is
served as one piece, so that its response time is that of all its requests together.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tlslab.analysis.costs.model import Check, CostModel
from tlslab.analysis.stats.queue import most_within
from tlslab.domain.capacity import Objective
from tlslab.domain.estimate import Estimate
from tlslab.domain.sizing import Beyond, Limit, NoSizingError, Share, Sizing
from tlslab.domain.wording import joined

MICRO = 1e-6

# Factors of a mix that may have any number as level.
_QUANTITIES = ("requests", "document_bytes")
# An answer for the cost, and for the two ends of its interval; None without an interval.
Processors = tuple[int, int | None, int | None]
Rates = tuple[float, float | None, float | None]


@dataclass(frozen=True)
class Bounds:
    """The limits for any number of processors: the use of each, and the objective."""

    busy_at_most: float
    objective: Objective | None

    def most(self, processors: int, cost_us: float) -> tuple[float, Limit]:
        """The highest rate of new connections/s on N processors, and the limit that decides."""
        service = cost_us * MICRO
        by_busy = processors * self.busy_at_most / service
        if self.objective is None:
            return by_busy, "busy"
        name, limit_s = self.objective.quantile, self.objective.limit_ms / 1000
        quantile = None if name == "mean" else int(name[1:]) / 100
        by_time = most_within(processors, service, limit_s, quantile)
        return (by_busy, "busy") if by_busy <= by_time else (by_time, "objective")

    def check(self, cost_us: float) -> None:
        """Raises NoSizingError if no number of processors meets the objective."""
        if self.most(1, cost_us)[0] <= 0:
            raise NoSizingError("objective_unmet", objective=self.objective, cost_us=cost_us)

    def fewest(self, rate: float, cost_us: float) -> int:
        """The fewest processors for a rate of new connections/s. Raises NoSizingError."""
        self.check(cost_us)
        low, high = 0, 1
        while self.most(high, cost_us)[0] < rate:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.most(middle, cost_us)[0] >= rate else (middle, high)
        return high


def size(
    model: CostModel,
    held_out: tuple[Check, ...],
    mix: Mapping[str, str],
    bounds: Bounds,
    rate: float | None = None,
    processors: int | None = None,
    measured: Sequence[Mapping[str, str]] = (),
) -> Sizing:
    """The processors for the mix at this rate, or the rate that N processors carry.

    `measured`: the levels of the cells that have a result.

    Raises NoSizingError if no number of processors suffices, or if the calibration is too noisy for
    an answer.
    """
    error = max((check.error for check in held_out), default=None)
    found = model.cost(mix)
    _refuse_noise(model, found, error)
    bound = max((check.bound for check in held_out), default=None)
    cost = widened(found, bound or 0.0)
    bounds.check(cost.value)
    counts: Processors
    rates: Rates
    if rate is not None:
        counts, rates = _fewest(bounds, rate, cost), (rate, rate, rate)
    else:
        assert processors is not None
        counts, rates = (processors, processors, processors), _most(bounds, processors, cost)
    return Sizing(
        asked="rate" if rate is None else "processors",
        mix=mix,
        cost=cost,
        shares=_shares(model, mix),
        error=error,
        error_bound=bound,
        checks=len(held_out),
        blocks=len(model.blocks),
        processors=counts[0],
        processors_low=counts[1],
        processors_high=counts[2],
        rate=rates[0],
        rate_low=rates[1],
        rate_high=rates[2],
        busy=rates[0] * cost.value * MICRO / counts[0],
        limit=bounds.most(counts[0], cost.value)[1],
        busy_at_most=bounds.busy_at_most,
        objective=bounds.objective,
        beyond=tuple(_beyond(measured, mix)),
    )


def _beyond(measured: Sequence[Mapping[str, str]], mix: Mapping[str, str]) -> Iterator[Beyond]:
    """The quantities of the mix that lie outside the measured ranges."""
    for name in _QUANTITIES:
        levels = [int(factors[name]) for factors in measured if name in factors]
        if name in mix and levels and not min(levels) <= int(mix[name]) <= max(levels):
            yield Beyond(name, mix[name], min(levels), max(levels))


def _fewest(bounds: Bounds, rate: float, cost: Estimate) -> Processors:
    """The fewest processors for a rate. Raises NoSizingError if there may be none."""
    fewest = bounds.fewest(rate, cost.value)
    if cost.low is None or cost.high is None:
        return fewest, None, None
    if bounds.most(1, cost.high)[0] <= 0:
        raise NoSizingError("objective_open", objective=bounds.objective, cost=cost)
    return fewest, bounds.fewest(rate, cost.low), bounds.fewest(rate, cost.high)


def _most(bounds: Bounds, processors: int, cost: Estimate) -> Rates:
    """The highest rate of N processors."""
    most = bounds.most(processors, cost.value)[0]
    if cost.low is None or cost.high is None:
        return most, None, None
    return most, bounds.most(processors, cost.high)[0], bounds.most(processors, cost.low)[0]


def _refuse_noise(model: CostModel, cost: Estimate, error: float | None) -> None:
    """Raises NoSizingError if the cost of this mix, or of a held-out mix, may be 0 or less."""
    least = cost.value if cost.low is None else min(cost.low, cost.value)
    if least <= 0:
        raise NoSizingError("noise", cost=cost, blocks=len(model.blocks))
    if error == math.inf:
        raise NoSizingError("noise_of_mixes", blocks=len(model.blocks))


def widened(cost: Estimate, bound: float) -> Estimate:
    """The estimate with its interval, if it has one, widened by a share either way."""
    if cost.low is None or cost.high is None:
        return cost
    method = f"{cost.method}, widened by the largest error that is not excluded, {bound:.1%}"
    return replace(cost, low=cost.low / (1 + bound), high=cost.high * (1 + bound), method=method)


def _shares(model: CostModel, mix: Mapping[str, str]) -> tuple[Share, ...]:
    """The parts of a mix with their costs, the most expensive first.

    Parts that only their sum is known of are one.
    """
    counts = model.counts(mix)
    shares = [
        _share(name, counts[name], model.part(name)) for name in model.parts if counts.get(name)
    ]
    if together := {name: counts[name] for name in model.merged if counts.get(name)}:
        shares.append(_share(joined(list(together)), 1.0, model.sum_of(together)))
    return tuple(sorted(shares, key=lambda share: -share.cost_us))


def _share(name: str, count: float, one: Estimate) -> Share:
    low, high = (None if end is None else count * end for end in (one.low, one.high))
    return Share(name, count, count * one.value, low, high)
