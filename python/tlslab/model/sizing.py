"""How many processors a load takes, or what a number of them carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tlslab.model.capacity import Objective
from tlslab.model.estimate import Estimate

Limit = Literal["busy", "objective"]

# The processors for a rate, or the rate of N processors.
Asked = Literal["processors", "rate"]


@dataclass(frozen=True)
class Share:
    """A part of a mix: how many of it a connection has, and what these cost together, in us.

    `low_us` and `high_us` are the ends of the interval of 95 % over blocks, None without one. A
    part is a difference of costs, and may come out below 0.
    """

    part: str
    count: float
    cost_us: float
    low_us: float | None
    high_us: float | None


@dataclass(frozen=True)
class Sizing:
    """What a load takes.

    `asked` is what was asked for: with a rate given, `processors` are those that it takes; with
    processors given, `rate` is the most they carry. The answer has the ends that belong to the ends
    of the cost, what was given is its own ends.
    `cost` is what a connection costs; its interval is that over blocks, widened either way by
    `error_bound`. One block has none: the ends of cost and answer are None.
    `error` is the largest error on the `checks` mixes that were held out of the fit, `error_bound`
    the largest that the intervals of these checks do not exclude (None without any). `blocks` is
    how many blocks the fit has. `busy` is how busy the processors are then, `limit` what decided.
    `beyond` are the quantities of the mix that lie outside of what was measured, in words with the
    range that was.
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
    beyond: tuple[str, ...] = ()
