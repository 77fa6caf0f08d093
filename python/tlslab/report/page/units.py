"""The unit in the heading of a column."""

import re
from collections.abc import Collection

from tlslab.domain.estimates import MICROSECONDS, PER_SECOND, SHARE, unit_shown

# Units that a heading may already contain, by their words or names. The word share is not enough:
# figures are percentages.
_SAID = {
    PER_SECOND: ("/s", "per s", "second"),
    MICROSECONDS: ("µs", "us", "microseconds"),
    SHARE: ("%", "per cent"),
}

# No letter precedes a word; a letter may precede a sign (`connections/s`).
_BEFORE = r"(?<![A-Za-zµ])"


def unit_beside(head: str, units: Collection[str]) -> str:
    """The common unit of a column's estimates; empty if there is none, or if the head has it."""
    if len(units) != 1:
        return ""
    unit = next(iter(units))
    words, _ = unit_shown(unit)
    said = any(
        re.search(rf"{_BEFORE if word[0].isalpha() else ''}{re.escape(word)}(?![A-Za-z])", head)
        for word in _SAID.get(unit, (words or unit, unit))
        if word
    )
    return "" if said else words
