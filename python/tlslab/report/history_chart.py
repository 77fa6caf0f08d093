"""The small chart of one series: positions in an SVG of fixed size, for the template to draw."""

from dataclasses import dataclass

from tlslab.domain.history import CellHistory, History
from tlslab.domain.wording import figure
from tlslab.report.history_words import moment

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


def chart(found: History, series: CellHistory) -> Chart:
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
        Point(x(place), y(value), f"{name}, {moment(found.run(name).began)}: {figure(value)}")
        for place, (name, value) in enumerate(zip(series.runs, series.values, strict=True))
    )
    return Chart(
        points=tuple(points),
        levels=tuple(
            Stretch(x(each.first - 0.4), x(each.last + 0.4), y(each.value))
            for each in series.levels
        ),
        changes=tuple(x(change.index - 0.5) for change in series.changes),
        ticks=tuple(Tick(y(value), figure(value)) for value in _ticks(series.values)),
    )


def _ticks(values: tuple[float, ...]) -> list[float]:
    """The smallest and the largest value; only one if they are written alike."""
    low, high = min(values), max(values)
    return [low] if figure(low) == figure(high) else [low, high]
