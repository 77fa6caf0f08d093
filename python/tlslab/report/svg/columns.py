"""The columns of a chart with a row for each name: names, plot, values, intervals.

Names take at most two fifths of the width. On a phone, names that do not fit stand above their
marks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tlslab.report.svg.suites import in_full
from tlslab.report.svg.text_fit import ASCENT, LINE, fold, width_of, written

# The largest width of names, as a share of the chart.
_NAMES = 0.4

# Below the first width names may stand above their marks; from the second on, intervals have room.
_PHONE = 500.0
WIDE = 600.0

# Pixels: between columns, for a sign, between a name and the marks below it.
_GAP = 10.0
_SIGN = 18.0
_UNDER = 3.0


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
class Columns:
    """Columns in pixels: the plot from `left` to `right`, the end of values and the start of
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


def columns_of(content: Sequence[Row], width: float, signs: bool) -> Columns:
    """Columns as wide as their texts need; `signs`: with room for signs."""
    before = _SIGN if signs else 0.0
    names = tuple(fold(row.name, width * _NAMES - _GAP) for row in content)
    fit = all(_whole(lines, row.name) for lines, row in zip(names, content, strict=True))
    above = width < _PHONE and not fit
    left = before
    if above:
        names = tuple(fold(row.name, width - 1, 1) for row in content)
    else:
        left += max((width_of(line) for lines in names for line in lines), default=0.0) + _GAP
    texts = [each for row in content for each in row.values]
    value = max((width_of(text) for _, text, _ in texts), default=0.0)
    beside = max((width_of(text) for _, _, text in texts), default=0.0)
    ranges = width - 1 - beside
    values = ranges - (_GAP if beside else 0.0)
    right = values - value - _GAP if value else width - 1
    return Columns(names, above, left - _SIGN / 2 - 1, left, right, values, ranges)


def _whole(lines: Sequence[str], name: str) -> bool:
    """Whether the lines contain the whole name."""
    return "".join(lines).replace(" ", "") == name.replace(" ", "")
