"""Units as the heads of tables and tiles have them."""

import re

# Units of estimates as people write them; those that are left out say nothing.
WORDS = {
    "1/s": "/s",
    "us": "µs",
    "share": "%",
    "ratio": "times",
    "1": "",
}

# What brings an estimate to the unit that is shown.
SCALES = {"share": 100.0}

# What a head may say already; other units are said by their words or names. To call a share one is
# not enough: figures are percentages.
_SAID = {
    "1/s": ("/s", "per s", "per second"),
    "us": ("µs", "us", "microseconds"),
    "share": ("%", "per cent"),
}

# No letter stands before a word; before a sign (`connections/s`) one may.
_BEFORE = r"(?<![A-Za-zµ])"


def unit_words(unit: str) -> str:
    """A unit as it stands behind a figure: `/s`, `µs`, `ms`; empty for none."""
    return WORDS.get(unit, unit)


def head_and_unit(head: str, units: set[str]) -> tuple[str, str]:
    """A column's head and the unit that its estimates share, where the head does not say it."""
    if len(units) != 1:
        return head, ""
    unit = next(iter(units))
    said = any(
        re.search(rf"{_BEFORE if word[0].isalpha() else ''}{re.escape(word)}(?![A-Za-z])", head)
        for word in _SAID.get(unit, (unit_words(unit) or unit, unit))
        if word
    )
    return head, "" if said else unit_words(unit)
