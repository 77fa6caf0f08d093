"""Numbers in sentences, with their intervals. All rounding of text is here."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import shown
from tlslab.domain.figure import Marked
from tlslab.domain.wording import counted, figure, percent, ratio_figure

# The form of a number by its unit; others have three significant digits.
_FORMS: Mapping[str, Callable[[float], str]] = {"ratio": ratio_figure, "share": percent}

NO_INTERVAL = "no interval"

# An interval, as `interval` writes it.
INTERVAL = re.compile(r"\(95 %: [^()]*\)")

# What stands for an absent interval: nothing, `(no interval)`, or `(3 trials, no interval)`.
Absent = Literal["", "no interval", "trials"]


def with_interval(
    found: Estimate,
    *,
    unit: str = "",
    bound: str = "",
    absent: Absent | None = None,
    form: Callable[[float], str] | None = None,
) -> str:
    """A number with its interval: `3,412 (95 %: 3,390 to 3,440)`.

    `unit` follows the number. `bound` stands before a lower bound (`at least`, `≥`), which has no
    interval. `absent` stands for an interval that is not known, by default `no interval` for ratios
    and shares, and the number of trials for others. `form` writes the numbers, by
    default as the estimate's unit demands: `1.25` for ratios, `19 % (95 %: 17 to 21)` for shares.
    """
    write = form or _FORMS.get(found.unit, figure)
    text = f"{write(found.value)} {unit}".rstrip()
    if bound:
        return f"{bound} {text}"
    if found.low is None or found.high is None:
        if absent is None:
            absent = "trials" if write is figure else "no interval"
        why = f"{counted(found.n, 'trial')}, {NO_INTERVAL}" if absent == "trials" else absent
        return f"{text} ({why})" if why else text
    return text + interval(found.low, found.high, lambda end: write(end).removesuffix(" %"))


def interval(
    low: float | None, high: float | None, form: Callable[[float], str] = figure, unit: str = ""
) -> str:
    """The interval after a number: ` (95 %: 3,390 to 3,440)`; empty without one.

    `unit` follows the upper end.
    """
    if low is None or high is None:
        return ""
    return f" (95 %: {form(low)} to {form(high)}{unit})"


def marked_words(found: Marked) -> str:
    """`at least 19 % (95 %: 17 to 21)`."""
    return f"{found.mark} {with_interval(found.found, absent='')}".lstrip()


def ends_alone(low: float, high: float, unit: str, form: Callable[[float], str] = figure) -> str:
    """An interval too wide for a number: `1.2 to 9.5 µs (95 %)`."""
    return f"{form(low)} to {form(high)} {unit} (95 %)"


def with_unit(found: Estimate, bound: bool = False) -> str:
    """`3,412 (95 %: 3,390 to 3,440)`, `≥ 3,412` for a lower bound; with the unit of a cost."""
    given = shown(found)
    unit = "" if given.unit == "/s" else given.unit
    found = replace(found, value=given.value, low=given.low, high=given.high)
    return with_interval(found, unit=unit, bound="≥" if bound else "", absent="", form=figure)


# The dash between the ends of a range.
RANGE = "–"


def range_words(low: str, high: str) -> str:
    """A range with its ends in figures: `3.5–10.4`; `-2.4 to 4.3`, where a dash would be a sign."""
    dash = RANGE if not (low + high).count("-") else " to "
    return f"{low}{dash}{high}"


def rank_words(best: int, worst: int) -> str:
    """The open ranks: `1`, or `1–3`."""
    return str(best) if best == worst else f"{best}{RANGE}{worst}"
