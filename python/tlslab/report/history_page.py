"""A history as one page without network access or scripts.

The chart of a series has a fixed size; the template draws it as SVG.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tlslab.domain.estimates import estimate_name
from tlslab.domain.history import CellHistory, History
from tlslab.domain.wording import difference, figure
from tlslab.report.html import asset, page_environment, policy
from tlslab.words import history as words

# The limit of runs in all charts of series without a change, and the size of a chart's frame in
# runs. A run takes some hundred bytes, so that charts take 200 KB of the 400 KB of a page.
_MOST_RUNS = 2_000
_FRAME = 6

# The size of a chart.
WIDTH = 640
HEIGHT = 150

# Room for the figures on the left, and around the points.
_LEFT = 64
_RIGHT = 10
_TOP = 12
_BOTTOM = 14

# The axis spans the values plus this share of their range; for equal values, a share of the value.
_MARGIN = 0.08
_FLAT = 0.02


def render_history_html(history: History) -> str:
    """The whole page: changed cells first, the others folded, the first of them with charts."""
    style = asset("charts.css", "report.css", "history.css")
    quiet = words.unchanged(history)
    return (
        page_environment()
        .get_template("history.html.j2")
        .render(
            history=history,
            changed=words.changed_cells(history),
            unchanged=quiet,
            drawn=drawn(quiet),
            many=len({cell.history for cell in history.cells}) > 1,
            words=words,
            estimate_name=estimate_name,
            chart=chart,
            difference=difference,
            style=style,
            policy=policy([style]),
        )
    )


def drawn(quiet: Sequence[CellHistory]) -> int:
    """The number of series without a change that have a chart, from the first one on."""
    taken = accumulate(len(series.values) + _FRAME for series in quiet)
    return sum(runs <= _MOST_RUNS for runs in taken)


@dataclass(frozen=True)
class Point:
    """A run's value: its position, and its text on hover."""

    x: float
    y: float
    title: str


@dataclass(frozen=True)
class Stretch:
    """The level of the runs between two changes, as a horizontal line."""

    x1: float
    x2: float
    y: float


@dataclass(frozen=True)
class Tick:
    """A labelled value of the axis."""

    y: float
    text: str


@dataclass(frozen=True)
class Chart:
    """The chart for the template; `changes` are the positions of the vertical lines."""

    points: tuple[Point, ...]
    levels: tuple[Stretch, ...]
    changes: tuple[float, ...]
    ticks: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM


def chart(history: History, series: CellHistory) -> Chart:
    """The chart of a series: runs from left to right in their order, values upwards."""
    low, high = min(series.values), max(series.values)
    margin = (high - low) * _MARGIN or high * _FLAT
    low, high = low - margin, high + margin
    count = len(series.values)

    def x(place: float) -> float:
        room = WIDTH - _LEFT - _RIGHT
        return round(_LEFT + room * (place + 0.5) / count, 1)

    def y(value: float) -> float:
        room = HEIGHT - _TOP - _BOTTOM
        return round(_TOP + room * (high - value) / (high - low), 1)

    points = (
        Point(
            x(place), y(value), f"{name}, {words.moment(history.run(name).began)}: {figure(value)}"
        )
        for place, (name, value) in enumerate(zip(series.runs, series.values, strict=True))
    )
    return Chart(
        points=tuple(points),
        levels=tuple(
            Stretch(x(level.first - 0.4), x(level.last + 0.4), y(level.value))
            for level in series.levels
        ),
        changes=tuple(x(change.index - 0.5) for change in series.changes),
        ticks=tuple(Tick(y(value), figure(value)) for value in _ticks(series.values)),
    )


def _ticks(values: tuple[float, ...]) -> list[float]:
    """The smallest and the largest value; only one if they are written alike."""
    low, high = min(values), max(values)
    return [low] if figure(low) == figure(high) else [low, high]
