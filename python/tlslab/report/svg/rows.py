"""The frame of charts with a row for each name: names, a lying axis, values.

Names take at most two fifths of the width. Values stand in a column of their own on the right, so
that no whisker runs through one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tlslab.model.figure import Figure
from tlslab.report.svg.keys import Key, keys
from tlslab.report.svg.markup import clean, path, tag
from tlslab.report.svg.scales import Scale, lying
from tlslab.report.svg.words import LINE, below, fold, width_of, written

# The widest that names may be, as a share of the chart.
_NAMES = 0.4

# Pixels: between columns, around the outer marks, above and below what a row holds, for a sign.
_GAP = 10.0
_INSET = 8.0
_PAD = 5.0
_TICK = 18.0
_SIGN = 18.0

# Beyond the least and largest number on an axis without zero, as a share of their distance.
_SPACE = 0.06

# From this height of all rows on, the axis is labelled above them, too.
_TALL = 420.0

# From this width on, there is room for intervals beside the values.
WIDE = 600.0


@dataclass(frozen=True)
class Row:
    """A name and what stands in its row: `depth` is the height of its marks in pixels.

    `values` are the texts of the column on the right: the place of each below the top of the marks,
    the value, its interval.
    """

    name: str
    depth: float
    values: tuple[tuple[float, str, str], ...] = ()
    muted: bool = False


@dataclass(frozen=True)
class Rows:
    """A frame that is drawn: the scale of the values, the top of each row's marks in pixels.

    `left` and `right` are the ends of the plot, `sign` is the place of signs before it.
    """

    x: Scale
    tops: tuple[float, ...]
    left: float
    right: float
    sign: float
    height: float
    frame: Markup


@dataclass(frozen=True)
class _Columns:
    """Columns in pixels: the plot from `left` to `right`, values end and ranges start there."""

    names: tuple[tuple[str, ...], ...]
    left: float
    right: float
    values: float
    ranges: float


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
    """The frame. `numbers` are what the axis needs room for; `zero`: it contains zero.

    `signs`: there is room for a sign before the marks; `arrows`: pixels kept right of the marks.
    """
    columns = _columns(content, width, signs)
    start, end = columns.left + _INSET, columns.right - _INSET - arrows
    x = lying(_padded(numbers, zero or figure.y_log), start, end, figure.y_log, zero)
    legend, y = keys(entries, width)
    depths = [
        max(row.depth, len(lines) * LINE) + 2 * _PAD
        for row, lines in zip(content, columns.names, strict=True)
    ]
    tall = sum(depths) > _TALL
    parts = [legend]
    if figure.x_title:
        room = width if not tall else columns.left - _GAP
        parts.append(written(fold(clean(figure.x_title), room, 1), 0, y + LINE - 3, "t"))
    if figure.x_title or tall:
        y += _TICK
    if tall:
        parts.append(_labels(x, y - 6, width))
    top = y
    tops = []
    body: list[Markup] = []
    for row, lines, depth in zip(content, columns.names, depths, strict=True):
        tops.append(y + (depth - row.depth) / 2)
        body.append(_name(row, lines, y + depth / 2))
        body += _values(row, columns, tops[-1])
        y += depth
    if not content:
        y += 3 * LINE
        body.append(tag("text", "no values", x=columns.left + _GAP, y=y - LINE, class_="t"))
    parts += [_grid(x, top, y, columns), *body, _labels(x, y + _TICK - 3, width)]
    y += _TICK
    if figure.y_title:
        title = fold(clean(figure.y_title), width - columns.left - 1)
        parts.append(below(title, columns.left, columns.right, y + LINE))
        y += LINE * len(title)
    sign = columns.left - _SIGN / 2 - 1
    frame = tag("g", *parts, class_="frame")
    return Rows(x, tuple(tops), columns.left, columns.right, sign, y + _PAD + 1, frame)


def _padded(numbers: Sequence[float], as_they_are: bool) -> list[float]:
    """The numbers, and a little space beyond both ends of them."""
    if as_they_are or not numbers:
        return list(numbers)
    low, high = min(numbers), max(numbers)
    space = (high - low) * _SPACE
    return [max(low - space, 0.0) if low >= 0 else low - space, *numbers, high + space]


def _columns(content: Sequence[Row], width: float, signs: bool) -> _Columns:
    """Columns as wide as their texts; names are folded where these are wider than their share."""
    before = _SIGN if signs else 0.0
    room = width * _NAMES - _GAP
    names = _folded([row.name for row in content], room)
    widest = max((width_of(line) for lines in names for line in lines), default=0.0)
    left = widest + _GAP + before
    texts = [each for row in content for each in row.values]
    value = max((width_of(text) for _, text, _ in texts), default=0.0)
    beside = max((width_of(text) for _, _, text in texts), default=0.0)
    ranges = width - 1 - beside
    values = ranges - (_GAP if beside else 0.0)
    right = values - value - _GAP if value else width - 1
    return _Columns(names, left, right, values, ranges)


def _folded(names: Sequence[str], room: float) -> tuple[tuple[str, ...], ...]:
    """Names in two lines; in three where two would make different names look alike."""
    folded = tuple(fold(name, room) for name in names)
    if len(set(folded)) < len(set(names)):
        folded = tuple(fold(name, room, 3) for name in names)
    return folded


def _name(row: Row, lines: tuple[str, ...], middle: float) -> Markup:
    base = middle + 4 - (len(lines) - 1) * LINE / 2
    full = row.name if "".join(lines).replace(" ", "") != row.name.replace(" ", "") else ""
    return written(lines, 0, base, "n t" if row.muted else "n", full=full)


def _values(row: Row, columns: _Columns, top: float) -> list[Markup]:
    parts = []
    for lower, text, beside in row.values:
        base = top + lower + 4
        parts.append(written((text,), columns.values, base, "v t" if row.muted else "v", "end"))
        if beside:
            parts.append(written((beside,), columns.ranges, base, "t"))
    return parts


def _grid(x: Scale, top: float, bottom: float, columns: _Columns) -> Markup:
    """Lines at the ticks; zero, where bars start, is stronger."""
    steps = "".join(path("M", x(tick), top, "V", bottom) for tick in x.ticks)
    edge = path("M", columns.left, bottom, "H", columns.right)
    return tag("g", tag("path", class_="gr", d=steps), tag("path", class_="ax", d=edge))


def _labels(x: Scale, base: float, width: float) -> Markup:
    """Labels of the ticks; those too near to the one before are left out."""
    parts = []
    end = 0.0
    for tick in x.ticks:
        text = x.text(tick)
        half = width_of(text) / 2
        middle = min(x(tick), width - half - 1)
        if middle - half >= end:
            parts.append(tag("text", text, x=middle, y=base, class_="m"))
            end = middle + half + _GAP
    return tag("g", *parts)
