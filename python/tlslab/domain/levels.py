"""Levels of factors, as cells, clients and servers carry them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Levels:
    """Levels by their factors: hashable, so that equal servers are one.

    `pairs` are sorted by the factor's name; `Levels.of` makes them.
    """

    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, levels: Mapping[str, str] | None = None, /, **more: str) -> "Levels":
        """The levels of a mapping, and others by keyword."""
        return cls(tuple(sorted({**(levels or {}), **more}.items())))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)

    def get(self, factor: str) -> str | None:
        """The level of a factor; None if there is none."""
        return dict(self.pairs).get(factor)

    def number(self, factor: str) -> int | None:
        """The level as a whole number; None if there is none."""
        level = self.get(factor)
        return None if level is None else int(level)

    def is_on(self, factor: str) -> bool:
        """Whether a factor that is switched off and on is on."""
        return self.get(factor) == ON

    def over(self, others: "Levels") -> "Levels":
        """These levels, and of `others` those of further factors."""
        return Levels.of(dict(others.pairs) | dict(self.pairs))

    def without(self, *factors: str) -> "Levels":
        """The levels of all other factors."""
        return Levels(tuple(pair for pair in self.pairs if pair[0] not in factors))


NO_LEVELS = Levels()

OFF = "off"
ON = "on"
