"""The frame of charts with a row for each name: names, a horizontal axis, values, intervals.

Names take at most two fifths of the width. On a phone, names that do not fit stand above their
marks. Values stand in a column of their own on the right, so that no whisker crosses them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tlslab.domain.figure import Figure
from tlslab.report.svg.axes import drawn_labels, labelled, labels_of, noted, notes_of, title_below
from tlslab.report.svg.data import Point
from tlslab.report.svg.marks import ARROW, Key, keys
from tlslab.report.svg.markup import clean, path, tag
from tlslab.report.svg.scales import Scale, lying
from tlslab.report.svg.text import ASCENT, LINE, fold, in_full, width_of, written

# The largest width of names, as a share of the chart.
_NAMES = 0.4

# Below the first width names may stand above their marks; from the second on, intervals have room.
_PHONE = 500.0
WIDE = 600.0

# Pixels: between columns, for a sign, between a name and the marks below it, around the outer
# marks, above and below a row's content, for ticks.
_GAP = 10.0
_SIGN = 18.0
_UNDER = 3.0
_INSET = 8.0
_PAD = 5.0
_TICK = 18.0

# The margin beyond the smallest and largest number on an axis without zero, as a share of the
# range.
_SPACE = 0.06

# If all rows together are at least this high, the axis is also labelled above them.
_TALL = 420.0


@dataclass(frozen=True)
class Row:
    """A name and the content of its row: `depth` is the height of its marks in pixels.

    `values`: the texts of the column on the right. Each has its position below the top of the
    marks, the value, its interval.
    """

    name: str
    depth: float
    values: tuple[tuple[float, str, str], ...] = ()
    muted: bool = False


@dataclass(frozen=True)
class _Columns:
    """_Columns in pixels: the plot from `left` to `right`, the end of values and the start of
    ranges.

    `names` are folded; `above`: they stand above their marks. Signs are centred at `sign`.
    """

    names: tuple[tuple[str, ...], ...]
    above: bool
    sign: float
    left: float
    right: float
    values: float
    ranges: float

    def depth(self, index: int, row: Row) -> float:
        """The height of a row in pixels."""
        name = LINE * len(self.names[index])
        return name + _UNDER + row.depth if self.above else max(name, row.depth)

    def drawn(self, index: int, row: Row, y: float) -> tuple[list[Markup], float]:
        """The texts of a row from `y` on, and the top of its marks."""
        lines = self.names[index]
        room = self.depth(index, row)
        base = y + (room - LINE * len(lines)) / 2 + ASCENT
        top = y + (room - row.depth) / 2
        if self.above:
            base, top = y + ASCENT, y + room - row.depth
        full = in_full(row.name) or ("" if _whole(lines, row.name) else row.name)
        name = written(lines, 0, base, "n t" if row.muted else "n", full=full)
        return [name, *self._values(row, top)], top

    def _values(self, row: Row, top: float) -> list[Markup]:
        parts = []
        for under, text, beside in row.values:
            base = top + under + 4
            parts.append(written((text,), self.values, base, "v t" if row.muted else "v", "end"))
            if beside:
                parts.append(written((beside,), self.ranges, base))
        return parts


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
    points: Sequence[Point],
    numbers: Sequence[float],
    width: float,
    zero: bool,
) -> Rows:
    """The frame of these points. `numbers`: those that the axis must cover; `zero`: it contains
    zero.
    """
    columns = _columns_of(content, width, any(point.objection for point in points))
    arrows = ARROW if any(point.bound for point in points) else 0.0
    numbers = _padded([*numbers, *noted(figure)], zero or figure.y_log)
    x = lying(numbers, columns.left + _INSET, columns.right - _INSET - arrows, figure.y_log, zero)
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
        drawn_labels(labels_of(x), y + _TICK - 3, width, _GAP)[0],
    ]
    y += _TICK
    left, right = columns.left, columns.right
    title, depth = title_below(figure.y_title, left, right, width - left - 1, y)
    parts += title
    y += depth
    frame = tag("g", *parts, class_="frame", data_across=x.known)
    return Rows(x, tuple(tops), left, right, columns.sign, y + _PAD + 1, frame)


def _heads(
    figure: Figure, columns: _Columns, x: Scale, y: float, tall: bool, width: float
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
        parts.append(drawn_labels(labels_of(x), y + LINE - 3, width, _GAP)[0])
        y += _TICK
    return parts, y


def _padded(numbers: Sequence[float], as_they_are: bool) -> list[float]:
    """The numbers, with a small margin at both ends."""
    if as_they_are or not numbers:
        return list(numbers)
    low, high = min(numbers), max(numbers)
    space = (high - low) * _SPACE
    return [max(low - space, 0.0) if low >= 0 else low - space, *numbers, high + space]


def _grid(x: Scale, top: float, bottom: float, columns: _Columns) -> Markup:
    """Lines at the ticks, and the axis."""
    steps = "".join(path("M", x(tick), top, "V", bottom) for tick in x.ticks)
    edge = path("M", columns.left, bottom, "H", columns.right)
    return tag("g", tag("path", class_="gr", d=steps), tag("path", class_="ax", d=edge))


def _columns_of(content: Sequence[Row], width: float, signs: bool) -> _Columns:
    """_Columns as wide as their texts need; `signs`: with room for signs."""
    before = _SIGN if signs else 0.0
    names = tuple(fold(row.name, width * _NAMES - _GAP) for row in content)
    fit = all(_whole(lines, row.name) for lines, row in zip(names, content, strict=True))
    above = width < _PHONE and not fit
    left = before
    if above:
        names = tuple(fold(row.name, width - 1, 1) for row in content)
    else:
        left += max((width_of(line) for lines in names for line in lines), default=0.0) + _GAP
    texts = [text for row in content for text in row.values]
    value = max((width_of(text) for _, text, _ in texts), default=0.0)
    beside = max((width_of(text) for _, _, text in texts), default=0.0)
    ranges = width - 1 - beside
    values = ranges - (_GAP if beside else 0.0)
    right = values - value - _GAP if value else width - 1
    return _Columns(names, above, left - _SIGN / 2 - 1, left, right, values, ranges)


def _whole(lines: Sequence[str], name: str) -> bool:
    """Whether the lines contain the whole name."""
    return "".join(lines).replace(" ", "") == name.replace(" ", "")
