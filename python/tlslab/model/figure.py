"""Figures and tables as plain data: what a page draws, with the numbers behind it."""

from dataclasses import dataclass
from typing import Literal

from tlslab.model.estimate import Estimate

FigureKind = Literal["line", "points", "bars", "stacked_bars", "ranking", "areas"]


@dataclass(frozen=True)
class Series:
    """One line, set of points or set of bars: `x` and `y` are equally long.

    `x` holds numbers, or names where the axis has categories. A missing `y` is None. `low` and
    `high` are the ends of the intervals of `y`, empty where there are none. `axis` is 2 for the
    axis on the right.

    `samples` has the values of the single trials behind each `y`; `bounds` says which `y` are lower
    bounds; `objections` is what a policy has against the setting of each `y`, empty for nothing.
    Each of the three is empty or as long as `y`.
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


@dataclass(frozen=True)
class Mark:
    """A vertical line at `x` with its label: a knee, a capacity."""

    x: float
    label: str


@dataclass(frozen=True)
class Figure:
    """A chart: `id` is unique in its summary, letters, digits and '-' only.

    `ranking`: a row for each name in `x`, best first, with its value, interval and trials along a
    horizontal axis (`x_title` heads the names, `y_title` names the value; a logarithmic axis of
    values is `y_log`). `areas`: stacked lines over time, each value of the slice that ends there.
    The intervals of stacked bars are those of the single parts.

    A logarithmic axis has base 10. `y2_title` names the axis on the right, where a series uses it.
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


TableCell = str | float | int | Estimate | None


@dataclass(frozen=True)
class DataTable:
    """A table of a report: `columns` are the heads, each row has a cell for each."""

    id: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]


@dataclass(frozen=True)
class TextBlock:
    """A text to be copied or read as it is: a configuration's lines, httperf's block."""

    id: str
    title: str
    caption: str
    text: str
