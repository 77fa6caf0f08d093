"""The series of a figure, prepared for drawing: sanitised names, finite numbers, equal lengths."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from tlslab.domain import figure
from tlslab.report.svg.markup import clean
from tlslab.report.svg.text import exact, value_text
from tlslab.words.numbers import range_words

# The palette's number of colours, and of shapes and textures (charts.css).
COLOURS = 8

# The length to which a name is shortened before it is measured.
_NAME = 120

# Arithmetic on the way to pixels must not overflow: larger numbers are missing, smaller ones zero.
_LARGEST = 1e120
_SMALLEST = 1e-120


class Point(figure.Point):
    """One value, with finite numbers, and its texts."""

    @property
    def text(self) -> str:
        """The value in figures: `3,412`, `≥ 3,412`, `–` if it is missing."""
        if self.y is None:
            return "–"
        return f"{'≥ ' if self.bound else ''}{value_text(self.y)}"

    @property
    def range(self) -> str:
        """The interval in figures: `3,390–3,440`; empty without one."""
        return range_words(*map(value_text, self.interval)) if self.interval else ""

    @property
    def words(self) -> str:
        """The value with its interval and objection, as hovering shows it."""
        if self.y is None:
            return "no value"
        text = f"{self.text} ({self.range})" if self.interval else self.text
        return f"{text}; {self.objection}" if self.objection else text


@dataclass(frozen=True)
class Line:
    """A series: `index` selects colour, shape and texture, equal for series of one name."""

    name: str
    index: int
    points: tuple[Point, ...]
    axis: int = 1
    dashed: bool = False
    hollow: str = ""

    @property
    def colour(self) -> str:
        """The class of its colour."""
        return f"c{self.index % COLOURS + 1}"

    @property
    def shape(self) -> int:
        """The shape of its marks and its texture: a different one when a colour is reused."""
        return (self.index + self.index // COLOURS) % COLOURS

    @property
    def intervals(self) -> bool:
        """Whether any value has an interval."""
        return any(point.low is not None and point.high is not None for point in self.points)

    @property
    def known(self) -> list[Point]:
        """The points that have a value."""
        return [point for point in self.points if point.y is not None]

    @property
    def reference(self) -> bool:
        """Whether the series is a reference line: dashed, two values, nothing else."""
        bare = not self.intervals and not any(point.samples for point in self.points)
        return self.dashed and len(self.points) == 2 and bare


Placed = tuple[Line, Point]


def lines_of(drawn: figure.Figure) -> tuple[Line, ...]:
    """The series of a figure, ready to be drawn."""
    names = list(dict.fromkeys(series.name for series in drawn.series))
    return tuple(
        Line(
            clean(series.name, _NAME),
            names.index(series.name),
            tuple(_points(series)),
            series.axis,
            series.dashed,
            clean(series.hollow, _NAME),
        )
        for series in drawn.series
    )


def _points(series: figure.Series) -> Iterator[Point]:
    for point in series.points:
        place = clean(point.x, _NAME) if isinstance(point.x, str) else _finite(point.x)
        if place is not None:
            yield Point(
                place,
                _finite(point.y),
                _finite(point.low),
                _finite(point.high),
                tuple(value for value in map(_finite, point.samples) if value is not None),
                point.bound,
                clean(point.objection),
            )


def _finite(value: float | None) -> float | None:
    if value is None or not math.isfinite(value) or abs(value) > _LARGEST:
        return None
    return float(value) if abs(value) >= _SMALLEST else 0.0


def numbers_of(lines: Iterable[Line], axis: int = 1) -> list[float]:
    """All numbers that the axis must cover."""
    points = chain.from_iterable(line.points for line in lines if line.axis == axis)
    return [number for point in points for number in point.numbers]


def places_of(lines: Iterable[Line]) -> list[float | str]:
    """The distinct places of all series: numbers in order, names in the order of their series."""
    places = list(dict.fromkeys(point.x for line in lines for point in line.points))
    if any(isinstance(place, str) for place in places):
        return [exact(place) for place in places]
    return sorted(places, key=float)


def named(lines: Iterable[Line]) -> bool:
    """Whether the places are names."""
    return any(isinstance(point.x, str) for line in lines for point in line.points)


def grouped(lines: Iterable[Line]) -> list[list[Placed]]:
    """The values of each place, in the order of their series; a repeated place has two groups."""
    groups: dict[tuple[float | str, int], list[Placed]] = {}
    for line in lines:
        counts: dict[float | str, int] = {}
        for point in line.points:
            counts[point.x] = counts.get(point.x, 0) + 1
            groups.setdefault((point.x, counts[point.x]), []).append((line, point))
    return list(groups.values())
