"""A number with its interval."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, computed from `n` values by `method`.

    `low` and `high` are None if no interval can be given; `method` then says why.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    unit: str
    method: str
