"""A number with its interval."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, computed from `n` values by `method`.

    `low` and `high` are None if no interval can be given; `method` then says why. `anytime`: the
    interval holds although the values determined their number (a confidence sequence). `first`: the
    spread is that of the first N values, which determined the number of the others.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    unit: str
    method: str
    anytime: bool = False
    first: int | None = None

    def scaled(self, by: float, unit: str) -> "Estimate":
        """The same number in another unit."""
        low, high = (None if end is None else end * by for end in (self.low, self.high))
        return replace(self, value=self.value * by, low=low, high=high, unit=unit)
