"""The frame of charts with a row for each name: names, a horizontal axis, values.

Values stand in a column of their own on the right, so that no whisker crosses them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tlslab.domain.figure import Figure
from tlslab.report.svg.columns import Columns, Row, columns_of
from tlslab.report.svg.keys import Key, keys
from tlslab.report.svg.markup import clean, path, tag
from tlslab.report.svg.notes import labelled, noted, notes_of
from tlslab.report.svg.scales import Scale, lying
from tlslab.report.svg.text_fit import LINE, below, fold, width_of, written

# Pixels: between columns, around the outer marks, above and below a row's content, for ticks.
_GAP = 10.0
_INSET = 8.0
_PAD = 5.0
_TICK = 18.0

# The margin beyond the smallest and largest number on an axis without zero, as a share of the
# range.
_SPACE = 0.06

# If all rows together are at least this high, the axis is also labelled above them.
_TALL = 420.0


@dataclass(frozen=True)
class Rows:
    """A drawn frame: the scale of the values, the top of each row's marks in pixels.

    `left` and `right` are the ends of the plot; `sign` is the place of signs before it.
    """

    x: Scale
    tops: tuple[float, ...]
    left: float
    right: float
    sign: float
    height: float
    frame: Markup


def rows(
    figure: Figure,
    entries: Sequence[Key],
    content: Sequence[Row],
    numbers: Sequence[float],
    width: float,
    zero: bool = False,
    signs: bool = False,
    arrows: float = 0.0,
) -> Rows:
    """The frame. `numbers`: those that the axis must cover; `zero`: it contains zero.

    `signs`: with room for a sign before the marks; `arrows`: pixels kept free right of the marks.
    """
    columns = columns_of(content, width, signs)
    start, end = columns.left + _INSET, columns.right - _INSET - arrows
    numbers = _padded([*numbers, *noted(figure)], zero or figure.y_log)
    x = lying(numbers, start, end, figure.y_log, zero)
    legend, y = keys(entries, width)
    depths = [columns.depth(index, row) + 2 * _PAD for index, row in enumerate(content)]
    parts, y = _heads(figure, columns, x, y, sum(depths) > _TALL, width)
    notes, lanes = labelled(notes_of(figure, x), width)
    top = y = y + (lanes + _PAD if lanes else 0.0)
    tops = []
    body: list[Markup] = []
    for index, (row, depth) in enumerate(zip(content, depths, strict=True)):
        texts, marks = columns.drawn(index, row, y + _PAD)
        body += texts
        tops.append(marks)
        y += depth
    if not content:
        y += 3 * LINE
        body.append(tag("text", "no values", x=columns.left + _GAP, y=y - LINE))
    parts += [
        legend,
        _grid(x, top, y, columns),
        *notes(top, y),
        *body,
        _labels(x, y + _TICK - 3, width),
    ]
    y += _TICK
    if figure.y_title:
        title = fold(clean(figure.y_title), width - columns.left - 1)
        parts.append(below(title, columns.left, columns.right, y + LINE))
        y += LINE * len(title)
    frame = tag("g", *parts, class_="frame", data_across=x.known)
    return Rows(x, tuple(tops), columns.left, columns.right, columns.sign, y + _PAD + 1, frame)


def _heads(
    figure: Figure, columns: Columns, x: Scale, y: float, tall: bool, width: float
) -> tuple[list[Markup], float]:
    """The heading of the names, for many rows the axis above them, and the lower end of both."""
    parts = []
    beside = tall and not columns.above
    if figure.x_title:
        room = columns.left - _GAP if beside else width
        title = fold(clean(figure.x_title), room, 1)
        parts.append(written(title, 0, y + LINE - 3, "t", full=clean(figure.x_title)))
        y += 0 if beside else _TICK
    if tall:
        parts.append(_labels(x, y + LINE - 3, width))
        y += _TICK
    return parts, y


def _padded(numbers: Sequence[float], as_they_are: bool) -> list[float]:
    """The numbers, with a small margin at both ends."""
    if as_they_are or not numbers:
        return list(numbers)
    low, high = min(numbers), max(numbers)
    space = (high - low) * _SPACE
    return [max(low - space, 0.0) if low >= 0 else low - space, *numbers, high + space]


def _grid(x: Scale, top: float, bottom: float, columns: Columns) -> Markup:
    """Lines at the ticks, and the axis."""
    steps = "".join(path("M", x(tick), top, "V", bottom) for tick in x.ticks)
    edge = path("M", columns.left, bottom, "H", columns.right)
    return tag("g", tag("path", class_="gr", d=steps), tag("path", class_="ax", d=edge))


def _labels(x: Scale, base: float, width: float) -> Markup:
    """Labels of the ticks, without those too close to the one before."""
    parts = []
    end = 0.0
    for tick in x.ticks:
        text = x.text(tick)
        half = width_of(text) / 2
        middle = min(max(x(tick), half + 1), width - half - 1)
        if middle - half >= end:
            parts.append(tag("text", text, x=middle, y=base, class_="m"))
            end = middle + half + _GAP
    return tag("g", *parts)
