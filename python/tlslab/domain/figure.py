"""Figures and tables as plain data: what a page draws, with the numbers behind it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Literal, TypeVar

from tlslab.domain.estimate import Estimate

_T = TypeVar("_T")

FigureKind = Literal["line", "points", "bars", "stacked_bars", "ranking", "areas"]


@dataclass(frozen=True)
class Point:
    """One value of a series, at `x`; `y` is None if it is missing."""

    x: float | str
    y: float | None
    low: float | None = None
    high: float | None = None
    samples: tuple[float, ...] = ()
    bound: bool = False
    objection: str = ""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the interval, which a lower bound does not have."""
        if self.y is None or self.bound or self.low is None or self.high is None:
            return None
        return self.low, self.high

    @property
    def numbers(self) -> tuple[float, ...]:
        """All numbers that an axis must cover."""
        ends = (end for end in (self.y, self.low, self.high) if end is not None)
        return (*self.samples, *ends)


@dataclass(frozen=True)
class Series:
    """One line, set of points or set of bars; `x` and `y` have the same length.

    `x` holds numbers, or names if the axis has categories. A missing `y` is None. `low` and `high`
    are the ends of the intervals of `y`, empty without intervals. `axis` is 2 for the axis on the
    right.

    `samples`: the values of the single trials behind each `y`. `bounds`: which `y` are lower
    bounds. `objections`: the objection of a policy to the setting of each `y`, empty for none. Each
    of the three is empty or as long as `y`.

    `hollow`: why its marks are hollow; empty if they are not. Such a series has the colour of the
    series with the same name.
    """

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    axis: Literal[1, 2] = 1
    dashed: bool = False
    samples: tuple[tuple[float, ...], ...] = ()
    bounds: tuple[bool, ...] = ()
    objections: tuple[str, ...] = ()
    hollow: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        points: Iterable[tuple[float | str, Estimate | None]],
        dashed: bool = False,
    ) -> "Series":
        """The series of estimates over `x`, with their intervals."""
        known = tuple(points)
        return cls(
            name=name,
            x=tuple(x for x, _ in known),
            y=tuple(None if each is None else each.value for _, each in known),
            low=tuple(None if each is None else each.low for _, each in known),
            high=tuple(None if each is None else each.high for _, each in known),
            dashed=dashed,
        )

    @property
    def label(self) -> str:
        """Its name, which no other series has."""
        return f"{self.name}, {self.hollow}" if self.hollow else self.name

    @property
    def points(self) -> tuple[Point, ...]:
        """The values one by one."""
        return tuple(
            map(
                Point,
                self.x,
                self.y,
                chain(self.low, repeat(None)),
                chain(self.high, repeat(None)),
                chain(self.samples, repeat(())),
                chain(self.bounds, repeat(False)),
                chain(self.objections, repeat("")),
            )
        )

    def only(self, kept: Collection[int]) -> "Series":
        """The series with some of its values, by their places."""

        def some(values: tuple[_T, ...]) -> tuple[_T, ...]:
            return tuple(values[index] for index in kept if index < len(values))

        return replace(
            self,
            x=some(self.x),
            y=some(self.y),
            low=some(self.low),
            high=some(self.high),
            samples=some(self.samples),
            bounds=some(self.bounds),
            objections=some(self.objections),
        )


@dataclass(frozen=True)
class Mark:
    """A vertical line at `x` with its label: a knee, a capacity.

    `onward`: what lies to the right of the line is shaded, as far as the chart goes.
    """

    x: float
    label: str
    onward: bool = False


@dataclass(frozen=True)
class Figure:
    """A chart. `id` is unique in its summary and consists of letters, digits and '-'.

    `ranking`: a row for each name in `x`, best first, with its value, interval and trials along a
    horizontal axis (`x_title` heads the names, `y_title` names the value; `y_log` makes the axis of
    values logarithmic). `areas`: stacked lines over time; each value belongs to the slice that ends
    there. Intervals of stacked bars are those of the single parts.

    A logarithmic axis has base 10. `y2_title` names the axis on the right, if a series uses it.
    `of_setting`: it belongs to one setting, whose table has its numbers.
    Every number drawn is in the series, so that a page can list them below the chart.
    """

    id: str
    title: str
    caption: str
    kind: FigureKind
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    y2_title: str = ""
    marks: tuple[Mark, ...] = ()
    of_setting: bool = False


@dataclass(frozen=True)
class Marked:
    """An estimate that stands in words, with its interval, after a mark: `at least`, `below`."""

    mark: str
    found: Estimate


TableCell = str | float | int | Estimate | Marked | None


@dataclass(frozen=True)
class DataTable:
    """A table of a report: `columns` are the headings; each row has one cell per column.

    `brief`: the columns of the table where a report has one screen. A report of one screen has one
    table: the first with such columns, else the first of all.
    """

    id: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    brief: tuple[str, ...] = ()


# How the ids of the texts begin that are configurations; the server's name follows.
EMITTED = "emit-"


@dataclass(frozen=True)
class TextBlock:
    """A text to be copied or read verbatim: the lines of a configuration, httperf's block."""

    id: str
    title: str
    caption: str
    text: str
