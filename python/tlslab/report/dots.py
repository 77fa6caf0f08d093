"""A ranking as lines of text: names, values, and every trial as a dot on one axis."""

import math
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from tlslab.domain.figure import Figure, Point
from tlslab.domain.plain import plain
from tlslab.domain.wording import figure as figure_text

# The least number of columns of the axis. A name that exceeds its share of the width gets a line of
# its own.
_AXIS = 24
_NAME_SHARE = 0.42

_MEAN, _TRIAL, _INTERVAL, _MORE = "●", "·", "─", "→"

OBJECTED = "✗"


@dataclass(frozen=True)
class DotLine:
    """One row: its name, its value, and its axis; `objected`: a policy objects to it.

    `above` is a name that is too long for the row; `name` is blank then.
    """

    above: str
    name: str
    value: str
    axis: str
    objected: bool

    @property
    def text(self) -> str:
        """The whole line, or two."""
        row = f"  {self.name}  {self.value}  {self.axis}".rstrip()
        return f"  {self.above}\n{row}" if self.above else row


def has_dots(figure: Figure) -> bool:
    """Whether a figure is a ranking with anything to show."""
    return figure.kind == "ranking" and any(
        value is not None for series in figure.series for value in series.y
    )


@dataclass(frozen=True)
class Dots:
    """A ranking: a line for each cell, or for the first ones, and the meaning of its marks."""

    figure: Figure
    first: int | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        for line in dot_lines(self.figure, width)[: self.first]:
            yield Text(line.text, style="dim" if line.objected else "")
        yield Text(axis_line(self.figure, width), style="dim", no_wrap=True)
        yield Text(f"  {marks_words(self.figure)}", style="dim")


def dot_lines(figure: Figure, width: int) -> list[DotLine]:
    """The rows of a ranking with one series, at most `width` columns wide; the best first."""
    points = [point for point in figure.series[0].points if point.y is not None]
    names = [f"{OBJECTED} " * bool(point.objection) + plain(str(point.x)) for point in points]
    values = [f"{'≥ ' if point.bound else ''}{figure_text(point.y or 0.0)}" for point in points]
    most = int(width * _NAME_SHARE)
    name_width = max((cell_len(name) for name in names if cell_len(name) <= most), default=2)
    value_width = max(map(cell_len, values))
    axis = _Axis(figure, max(_AXIS, width - name_width - value_width - 6))
    return [
        DotLine(
            above=name if cell_len(name) > most else "",
            name=("" if cell_len(name) > most else name).ljust(name_width),
            value=value.rjust(value_width),
            axis=axis.line(point),
            objected=bool(point.objection),
        )
        for point, name, value in zip(points, names, values, strict=True)
    ]


def axis_line(figure: Figure, width: int) -> str:
    """The ends of the axis below the rows, in figures."""
    lines = dot_lines(figure, width)
    series = figure.series[0]
    ends = _ends(figure)
    indent = 2 + cell_len(lines[0].name) + 2 + cell_len(lines[0].value) + 2
    room = max(_AXIS, width - indent)
    low, high = figure_text(ends[0]), figure_text(ends[1])
    scale = " (logarithmic)" if figure.y_log else ""
    middle = f"{series.name}{scale}"
    spare = room - cell_len(low) - cell_len(high)
    middle = middle if cell_len(middle) + 2 <= spare else ""
    return " " * indent + low + middle.center(max(1, spare)) + high


def marks_words(figure: Figure) -> str:
    """The meaning of the marks, as far as the figure has them."""
    series = figure.series[0]
    words = [f"{_TRIAL} a trial"] if any(series.samples) else []
    words.append(f"{_MEAN} {'their' if words else 'the'} mean")
    if any(end is not None for end in series.low):
        words.append(f"{_INTERVAL} its interval of 95 %")
    if any(series.bounds):
        words.append("≥ lower bound: the server may do more")
    if any(series.objections):
        words.append(f"{OBJECTED} a policy objects to it")
    return "; ".join(words)


def _ends(figure: Figure) -> tuple[float, float]:
    points = [point for point in figure.series[0].points if point.y is not None]
    values = [value for point in points for value in point.numbers]
    low, high = min(values), max(values)
    # One row is compared with nothing but zero.
    if not figure.y_log and low >= 0 and (low < high / 2 or len(points) == 1):
        low = 0.0
    return (low, high) if low < high else (low * 0.9, high * 1.1 + 1e-9)


class _Axis:
    """The positions of values on an axis of `width` columns."""

    def __init__(self, figure: Figure, width: int) -> None:
        self._log = figure.y_log
        self._width = width
        self._low, self._high = (self._at(end) for end in _ends(figure))

    def _at(self, value: float) -> float:
        return math.log(max(value, 1e-12)) if self._log else value

    def _column(self, value: float) -> int:
        share = (self._at(value) - self._low) / (self._high - self._low)
        return min(self._width - 1, max(0, round(share * (self._width - 1))))

    def line(self, point: Point) -> str:
        """Interval, trials and mean of a row, each drawn over the ones before."""
        columns = [" "] * self._width
        if point.interval:
            low, high = map(self._column, point.interval)
            columns[low : high + 1] = _INTERVAL * (high + 1 - low)
        for value in point.samples:
            columns[self._column(value)] = _TRIAL
        if point.y is not None:
            place = self._column(point.y)
            columns[place] = _MEAN
            if point.bound and place + 1 < self._width:
                columns[place + 1] = _MORE
        return "".join(columns).rstrip()
