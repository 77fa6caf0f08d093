"""The tables of a summary, and the numbers behind its figures as tables, in words."""

from dataclasses import dataclass

from tlslab.domain.estimate import Estimate
from tlslab.domain.figure import DataTable, Figure, Series, TableCell
from tlslab.domain.wording import figure as figure_text
from tlslab.domain.wording import range_words
from tlslab.report import view


@dataclass(frozen=True)
class Place:
    """A cell of a table; `number`: its text is aligned as a figure. `style`: for a terminal."""

    value: view.Value
    number: bool
    style: str = ""


def word(text: str, style: str = "") -> Place:
    """A cell of words."""
    return Place(view.Value(text), False, style)


def number(text: str) -> Place:
    """A cell with a figure."""
    return Place(view.Value(text), True)


@dataclass(frozen=True)
class Grid:
    """A table to be rendered: headings, and rows with a cell for each.

    `numbers`: columns of figures.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Place, ...], ...]

    @property
    def numbers(self) -> tuple[bool, ...]:
        """For each column, whether it contains only figures."""
        return tuple(
            any(row[index].number for row in self.rows)
            and all(row[index].number or not row[index].value.text for row in self.rows)
            for index in range(len(self.columns))
        )


def table_grid(table: DataTable) -> Grid:
    """A table's cells; rows that are too short are filled up."""
    width = len(table.columns)
    rows = tuple(
        tuple(_place(cell) for cell in (*row[:width], *[None] * (width - len(row))))
        for row in table.rows
    )
    return Grid(table.columns, rows)


def lying(grid: Grid) -> Grid:
    """The transposed grid: each row's first cell becomes the heading of a column."""
    heads = (grid.columns[0], *(row[0].value.text for row in grid.rows))
    rows = tuple(
        (word(name), *(row[index] for row in grid.rows))
        for index, name in enumerate(grid.columns)
        if index > 0
    )
    return Grid(heads, rows)


def figure_grid(figure: Figure) -> Grid:
    """The numbers behind a figure: a row for each place on the axis, a column for each series.

    If a series has a place twice (a scatter of points), there is a row for each point instead.
    """
    if any(len(set(series.x)) < len(series.x) for series in figure.series):
        return _points(figure)
    heads = (figure.x_title, *(_head(figure, series) for series in figure.series))
    places = list(dict.fromkeys(x for series in figure.series for x in series.x))
    if not any(isinstance(place, str) for place in places):
        places.sort(key=float)
    rows = tuple(
        (_place(place), *(_value_at(series, place) for series in figure.series)) for place in places
    )
    return Grid(heads, rows)


def _points(figure: Figure) -> Grid:
    rows = tuple(
        (word(series.name), _place(x), _value(series, index))
        for series in figure.series
        for index, x in enumerate(series.x)
    )
    return Grid(("", figure.x_title, figure.y_title), rows)


def _head(figure: Figure, series: Series) -> str:
    if not any(each.axis == 2 for each in figure.series) and len(figure.series) > 1:
        return series.name
    title = figure.y2_title if series.axis == 2 else figure.y_title
    return f"{series.name}: {title}" if title else series.name


def _value_at(series: Series, place: float | str) -> Place:
    return _value(series, series.x.index(place)) if place in series.x else _place(None)


def _value(series: Series, index: int) -> Place:
    value = series.y[index]
    if value is None:
        return _place(None)
    low = series.low[index] if index < len(series.low) else None
    high = series.high[index] if index < len(series.high) else None
    ends = () if low is None or high is None else (figure_text(low), figure_text(high))
    interval = range_words(*ends) if ends else ""
    return Place(view.Value(figure_text(value), interval), True)


def place_text(place: float) -> str:
    """A place on an axis in figures; whole numbers without decimals."""
    return f"{place:,.0f}" if float(place).is_integer() else figure_text(place)


def _place(cell: TableCell) -> Place:
    match cell:
        case None:
            return word("")
        case str():
            return word(cell)
        case Estimate():
            return Place(view.value(cell), True)
        case int():
            return number(f"{cell:,}")
        case _:
            return number(place_text(cell))
