"""The combinations of levels that are measured when not all are.

The first levels of all factors together are the centre. A model is fitted to the centre, to each
other level by itself, and to some further combinations. Still others are measured and held out of
the fit, to show how far the model can be trusted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Levels = Mapping[str, str]

# The levels of each factor, by its name.
Factors = Mapping[str, tuple[str, ...]]

# Factors with numbers as levels: a combination may have any number, listed as a level or not.
QUANTITIES = ("resumed", "requests", "document_bytes")


def centre(factors: Factors) -> dict[str, str]:
    """The first level of each factor."""
    return {name: levels[0] for name, levels in factors.items()}


@dataclass(frozen=True)
class Design:
    """Combinations that differ from the centre in more than one level.

    Each is given by its changes.
    """

    more: tuple[Levels, ...] = ()
    held_out: tuple[Levels, ...] = ()

    def fitted(self, factors: Factors) -> Iterator[dict[str, str]]:
        """The combinations to which a model is fitted, the centre first."""
        middle = centre(factors)
        yield middle
        for name, levels in factors.items():
            for level in levels[1:]:
                yield {**middle, name: level}
        yield from _changed(factors, self.more)

    def combinations(self, factors: Factors) -> Iterator[dict[str, str]]:
        """All combinations: the fitted ones, then those held out of the fit."""
        yield from self.fitted(factors)
        yield from _changed(factors, self.held_out)


def _changed(factors: Factors, changes: tuple[Levels, ...]) -> Iterator[dict[str, str]]:
    """The centre with each of these changes, as far as its factors have such levels."""
    for change in changes:
        if all(_has(factors, name, level) for name, level in change.items()):
            yield {**centre(factors), **change}


def _has(factors: Factors, name: str, level: str) -> bool:
    levels = factors.get(name, ())
    return bool(levels) if name in QUANTITIES else level in levels
