"""The frame of charts with a vertical axis of numbers: titles, ticks, grid, labelled lines.

Titles of axes stand above their axis; no text is rotated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markupsafe import Markup

from tlslab.domain.figure import Figure
from tlslab.report.svg.axes import (
    Label,
    drawn_labels,
    labelled,
    labels_of,
    noted,
    notes_of,
    shaded,
    title_below,
)
from tlslab.report.svg.data import Line, named, numbers_of, places_of
from tlslab.report.svg.marks import Key, keys
from tlslab.report.svg.markup import clean, path, tag
from tlslab.report.svg.scales import Scale, lying, scale
from tlslab.report.svg.text import LINE, exact, fold, width_of, written

# Pixels: around the plot, between ticks, between a tick's label and the axis.
_EDGE = 6.0
_GAP = 8.0
_INSET = 12.0
_BELOW = 18.0
_SPACING_Y = 44.0

# The least room for a name below the axis; with less, names are left out.
_NARROW = 36.0


@dataclass(frozen=True)
class Plane:
    """A drawn frame and its scales: `y` has one for each axis, `places` are names."""

    x: Scale
    y: tuple[Scale, Scale]
    places: tuple[str, ...]
    slot: float
    top: float
    bottom: float
    height: float
    frame: Markup

    def at(self, place: float | str) -> float:
        """The position of a number or a name in pixels."""
        if isinstance(place, str) or self.places:
            name = place if isinstance(place, str) else exact(place)
            return self.x(float(self.places.index(name)))
        return self.x(place)


def plot_height(width: float) -> float:
    """The height of the plot: relatively lower on wide charts."""
    return 210.0 if width < 500 else 280.0 if width < 900 else 330.0


def plane(
    figure: Figure,
    lines: Sequence[Line],
    width: float,
    entries: Sequence[Key],
    values: tuple[Sequence[float], Sequence[float]] | None = None,
    bars: bool = False,
) -> Plane:
    """The frame for series. `values`: the numbers of both axes, if they differ from the series'.

    `bars`: the vertical axis contains zero, and the outer bars have half a bar's room beside them.
    """
    first, second = values or (numbers_of(lines, 1), numbers_of(lines, 2))
    tall = plot_height(width)
    left_y = _vertical(first, tall, figure.y_log, bars)
    right_y = _vertical(second, tall, figure.y_log, bars) if second else None
    left = _EDGE + max((width_of(left_y.text(tick)) for tick in left_y.ticks), default=0) + _GAP
    right = width - _INSET
    if right_y is not None:
        labels = max((width_of(right_y.text(tick)) for tick in right_y.ticks), default=0)
        right = width - _EDGE - labels - _GAP
    x, places, slot = _horizontal(figure, lines, left, right, bars)

    legend, y = keys(entries, width)
    titles, y = _titles(figure, width, y, right_y is not None)
    notes, lanes = labelled([] if places else notes_of(figure, x), width)
    top = y + (lanes + 11 if lanes else 6)
    bottom = top + tall
    left_y = replace(left_y, start=bottom, end=top)
    shades = [] if places else shaded(figure, x, right, top, bottom)
    parts = [legend, titles, *shades, _grid(left_y, left, right), *notes(top, bottom)]
    parts += _y_labels(left_y, left - _GAP, "e")
    if right_y is not None:
        right_y = replace(right_y, start=bottom, end=top)
        parts += _y_labels(right_y, right + _GAP, None)
    parts.append(tag("path", class_="ax", d=path("M", left, bottom, "H", right)))
    texts = labels_of(x)
    if places:
        room = max(slot - _GAP, _NARROW)
        texts = [Label(x(float(at)), fold(t, room), t) for at, t in enumerate(places) if t]
    names, depth = drawn_labels(texts, bottom + _BELOW - 2, width, _GAP, bottom)
    parts.append(names)
    end = bottom + _BELOW + (depth - 1) * LINE
    if not first and not second:
        parts.append(tag("text", "no values", x=left + _GAP, y=(top + bottom) / 2))
    title, height = title_below(figure.x_title, left, right, width - left - _EDGE, end)
    parts += title
    end += height
    frame = tag(
        "g",
        *parts,
        class_="frame",
        data_across=None if places else x.known,
        data_up=left_y.known,
        data_up2=right_y.known if right_y is not None else None,
    )
    return Plane(x, (left_y, right_y or left_y), places, slot, top, bottom, end + _EDGE, frame)


def _vertical(numbers: Sequence[float], tall: float, log: bool, bars: bool) -> Scale:
    zero = bars or not numbers or min(numbers) >= 0
    return scale(numbers, tall, 0, log, int(tall / _SPACING_Y), zero=zero)


def _horizontal(
    figure: Figure, lines: Sequence[Line], left: float, right: float, bars: bool
) -> tuple[Scale, tuple[str, ...], float]:
    """The horizontal scale, the names on it, and the room of one place in pixels."""
    distinct = places_of(lines)
    if named(lines):
        half = (right - left) / max(1, len(distinct)) / 2
        last = max(1.0, len(distinct) - 1.0)
        whole = Scale(0.0, last, left + half, right - half, False, (), 1.0)
        return whole, tuple(str(place) for place in distinct), 2 * half
    numbers = [float(place) for place in distinct]
    inset = _INSET
    if bars:
        inset = max(inset, (right - left) / max(1, len(numbers)) / 2)
    numbers += noted(figure)
    x = lying(numbers, left + inset, right - inset, figure.x_log, own=True)
    drawn = sorted({x(number) for number in numbers if x.holds(number)})
    gaps = [b - a for a, b in pairwise(drawn)]
    return x, (), min([2 * inset, *gaps])


def _titles(figure: Figure, width: float, y: float, both: bool) -> tuple[Markup, float]:
    """Titles of the vertical axes above them, and their lower end."""
    left, right = clean(figure.y_title), clean(figure.y2_title) if both else ""
    room = width - 2 * _EDGE
    lines = [fold(left, room)] if left else [()]
    if left and right and width_of(left) + width_of(right) + 2 * _GAP > room:
        half = room / 2 - _GAP
        lines = [fold(left, half, 3), fold(right, half, 3)]
    elif right:
        lines = [*lines, (right,)] if left else [(), fold(right, room)]
    depth = max(len(title) for title in lines)
    parts = []
    for index, title in enumerate(lines):
        if title:
            base = y + LINE * (depth - len(title) + 1) - 3
            x, anchor = ((0.0, None), (width - 1, "end"))[index]
            parts.append(written(title, x, base, "t", anchor))
    return tag("g", *parts), y + LINE * depth + 4


def _grid(y: Scale, left: float, right: float) -> Markup:
    steps = "".join(path("M", left, y(tick), "H", right) for tick in y.ticks)
    return tag("path", class_="gr", d=steps) if steps else Markup("")


def _y_labels(y: Scale, x: float, anchor: str | None) -> list[Markup]:
    """Labels of the ticks, without those too close to the one below."""
    parts: list[Markup] = []
    last = float("inf")
    for tick in y.ticks:
        place = y(tick)
        if last - place >= LINE + 1:
            parts.append(tag("text", y.text(tick), x=x, y=place + 4, class_=anchor))
            last = place
    return parts
