"""The number of processors that a load needs, or the load that a number of processors carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tlslab.domain.capacity import Objective
from tlslab.domain.estimate import Estimate

Limit = Literal["busy", "objective"]

# The processors for a rate, or the rate of N processors.
Asked = Literal["processors", "rate"]


@dataclass(frozen=True)
class Share:
    """A part of a mix: its count per connection, and the cost of all of them together, in us.

    `low_us` and `high_us` are the ends of the 95 % interval over blocks, None without one. A part
    is a difference of costs and may be negative.
    """

    part: str
    count: float
    cost_us: float
    low_us: float | None
    high_us: float | None


@dataclass(frozen=True)
class Beyond:
    """A quantity of a mix outside the measured range from `low` to `high`."""

    factor: str
    level: str
    low: int
    high: int


# No number of processors meets the objective; whether one does is open; the calibration may give
# the mix, or a mix that was held out, a cost of 0 or less.
NoAnswer = Literal["objective_unmet", "objective_open", "noise", "noise_of_mixes"]


class NoSizingError(Exception):
    """A calibration has no answer to a question: a code, with the values of its sentence."""

    def __init__(self, code: NoAnswer, **values: Any) -> None:
        super().__init__(code)
        self.code = code
        self.values = values


@dataclass(frozen=True)
class Sizing:
    """The processors that a load needs, or the rate that processors carry.

    `asked`: with a rate given, `processors` are the processors that the rate needs; with processors
    given, `rate` is the most that they carry. The ends of the answer's interval belong to the ends
    of the cost; the given quantity has itself as both ends. `cost`: the cost of a connection; its
    interval is that over blocks, widened on both sides by `error_bound`. With one block there is no
    interval: the ends of cost and answer are None. `error`: the largest error on the `checks` mixes
    that were held out of the fit; `error_bound`: the largest error that the intervals of these
    checks do not exclude (None without any). `blocks`: the blocks of the fit. `busy`: the resulting
    use of the processors; `limit`: what decided. `beyond`: the quantities of the mix outside the
    measured ranges.
    """

    asked: Asked
    mix: Mapping[str, str]
    cost: Estimate
    shares: tuple[Share, ...]
    error: float | None
    error_bound: float | None
    checks: int
    blocks: int
    processors: int
    processors_low: int | None
    processors_high: int | None
    rate: float
    rate_low: float | None
    rate_high: float | None
    busy: float
    limit: Limit
    busy_at_most: float
    objective: Objective | None
    beyond: tuple[Beyond, ...] = ()
