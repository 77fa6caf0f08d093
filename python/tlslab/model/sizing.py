"""How many processors a load takes, or what a number of them carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tlslab.model.capacity import Objective
from tlslab.model.estimate import Estimate

Limit = Literal["busy", "objective"]


@dataclass(frozen=True)
class Share:
    """A part of a mix: how many of it a connection has, and what these cost together, in us."""

    part: str
    count: float
    cost_us: float


@dataclass(frozen=True)
class Sizing:
    """What a load takes.

    `cost` is what a connection costs; its interval is that over blocks, widened either way by
    `error_bound`. `error` is the largest error on the `checks` mixes that were held out of the fit,
    `error_bound` the largest that the intervals of these checks do not exclude (None without any).
    `blocks` is how many blocks the fit has. With a rate `processors` are those that it takes, with
    `processors` given `rate` is the most they carry; each with the ends that belong to the ends of
    the cost. `busy` is how busy they are then, `limit` what decided. `beyond` are the quantities of
    the mix that lie outside of what was measured, in words with the range that was.
    """

    mix: Mapping[str, str]
    cost: Estimate
    shares: tuple[Share, ...]
    error: float | None
    error_bound: float | None
    checks: int
    blocks: int
    processors: int
    processors_low: int
    processors_high: int
    rate: float
    rate_low: float
    rate_high: float
    busy: float
    limit: Limit
    busy_at_most: float
    objective: Objective | None
    beyond: tuple[str, ...] = ()
