"""Labelled vertical lines: a knee, a capacity. Their labels lie above the plot, in lanes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tlslab.report.svg.figures import exact
from tlslab.report.svg.markup import path, tag
from tlslab.report.svg.words import LINE, shorten, width_of, written

# Between a line and its label, and between two labels.
_BESIDE = 4.0
_BETWEEN = 8.0

# The widest label, as a share of the chart.
_SHARE = 0.6


@dataclass(frozen=True)
class Note:
    """A line at `x` in pixels, which stands for `value`."""

    value: float
    x: float
    label: str


@dataclass(frozen=True)
class _Placed:
    """A label from `left` to `right` in a lane; lane 0 is the lowest."""

    note: Note
    text: str
    left: float
    right: float
    lane: int


Drawing = Callable[[float, float], list[Markup]]


def labelled(notes: Sequence[Note], left: float, width: float) -> tuple[Drawing, float]:
    """What draws the lines between the top and bottom of a plot; the height of the labels."""
    placed: list[_Placed] = []
    for note in sorted(notes, key=lambda each: -each.x):
        placed.append(_place(note, placed, width))
    lanes = max((each.lane + 1 for each in placed), default=0)

    def draw(top: float, bottom: float) -> list[Markup]:
        parts = []
        for each in placed:
            base = top - 11 - each.lane * LINE
            line = path("M", each.note.x, base - 10, "V", bottom)
            full = each.note.label
            x = each.left
            parts.append(
                tag(
                    "g",
                    tag("title", full),
                    tag("path", d=line),
                    written((each.text,), x, base, "h"),
                    class_="mk",
                    data_x=exact(each.note.value),
                )
            )
        return parts

    return draw, lanes * LINE


def _place(note: Note, placed: list[_Placed], width: float) -> _Placed:
    """The lowest lane where the label is free of others; left of its line where it must."""
    text = shorten(note.label, width * _SHARE)
    room = width_of(text)
    left = note.x + _BESIDE
    if left + room > width:
        left = max(0.0, note.x - _BESIDE - room)
    right = left + room
    lane = 0
    while any(
        each.lane == lane and left < each.right + _BETWEEN and each.left < right + _BETWEEN
        for each in placed
    ) or any(each.lane > lane and left - 2 < each.note.x < right + 2 for each in placed):
        lane += 1
    return _Placed(note, text, left, right, lane)
