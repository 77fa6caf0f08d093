"""The units in the headings of tables and tiles."""

import re

# Units of estimates as people write them; units that say nothing are empty.
WORDS = {
    "1/s": "/s",
    "us": "µs",
    "share": "%",
    "ratio": "times",
    "1": "",
}

# Factors to the unit of display.
SCALES = {"share": 100.0}

# Units that a heading may already contain, by their words or names. The word share is not enough:
# figures are percentages.
_SAID = {
    "1/s": ("/s", "per s", "per second"),
    "us": ("µs", "us", "microseconds"),
    "share": ("%", "per cent"),
}

# No letter precedes a word; a letter may precede a sign (`connections/s`).
_BEFORE = r"(?<![A-Za-zµ])"


def unit_words(unit: str) -> str:
    """A unit to follow a figure: `/s`, `µs`, `ms`; empty for none."""
    return WORDS.get(unit, unit)


def head_and_unit(head: str, units: set[str]) -> tuple[str, str]:
    """A column's heading and its estimates' common unit, unless the heading contains the unit."""
    if len(units) != 1:
        return head, ""
    unit = next(iter(units))
    said = any(
        re.search(rf"{_BEFORE if word[0].isalpha() else ''}{re.escape(word)}(?![A-Za-z])", head)
        for word in _SAID.get(unit, (unit_words(unit) or unit, unit))
        if word
    )
    return head, "" if said else unit_words(unit)
