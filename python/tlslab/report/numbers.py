"""The tables of a summary, and the numbers behind its figures as tables, in words."""

from dataclasses import dataclass

from tlslab.domain.estimate import Estimate
from tlslab.domain.figure import DataTable, Figure, Marked, Point, Series, TableCell
from tlslab.domain.wording import figure as figure_text
from tlslab.report import view
from tlslab.report.names import long_names, short
from tlslab.report.table import Cell, Column, Row, Table, exact, interval_words, place_text
from tlslab.words.numbers import marked_words


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


def figure_table(figure: Figure) -> Table:
    """A row for each place on the axis, a column for each series.

    If a series has a place twice (a scatter of points), there is a row for each point instead.
    """
    if any(len(set(series.x)) < len(series.x) for series in figure.series):
        return _points(figure)
    places = list(dict.fromkeys(x for series in figure.series for x in series.x))
    words = any(isinstance(place, str) for place in places)
    if not words:
        places.sort(key=float)
    columns = (
        Column(figure.x_title, figure.x_title or "x", number=not words),
        *(_column(figure, series) for series in figure.series),
    )
    points = [{point.x: point for point in series.points} for series in figure.series]
    objections = {p.x: p.objection for of in points for p in of.values() if p.objection}
    rows = tuple(
        Row(
            (_place_cell(place), *(_value(of.get(place)) for of in points)),
            objection=objections.get(place, ""),
        )
        for place in places
    )
    return _table(figure, columns, rows)


def _points(figure: Figure) -> Table:
    columns = (
        Column("", "series", factor=True),
        Column(figure.x_title, figure.x_title or "x", number=True),
        Column(figure.y_title, figure.y_title or "y", number=True, spread=_spread(figure.series)),
    )
    rows = tuple(
        Row((Cell(series.label), _place_cell(point.x), _value(point)))
        for series in figure.series
        for point in series.points
    )
    return _table(figure, columns, rows)


def _table(figure: Figure, columns: tuple[Column, ...], rows: tuple[Row, ...]) -> Table:
    return Table(f"numbers-{figure.id}", figure.title, columns, rows)


def _column(figure: Figure, series: Series) -> Column:
    head = _head(figure, series)
    return Column(
        head,
        head or "y",
        number=True,
        spread=_spread((series,)),
        trials=any(series.samples),
    )


def _spread(series: tuple[Series, ...]) -> bool:
    return any(end is not None for one in series for end in (*one.low, *one.high))


def _head(figure: Figure, series: Series) -> str:
    if len(figure.series) == 1:
        return figure.y_title or series.label
    if not any(one.axis == 2 for one in figure.series):
        return series.label
    title = figure.y2_title if series.axis == 2 else figure.y_title
    return f"{series.label}: {title}" if title else series.label


def _value(point: Point | None) -> Cell:
    if point is None or point.y is None:
        return Cell()
    text = figure_text(point.y)
    return Cell(
        f"≥ {text}" if point.bound else text,
        interval_words(point.low, point.high),
        exact=exact(point.y, point.low, point.high)[:3],
        samples=point.samples,
    )


def _place_cell(place: float | str) -> Cell:
    if isinstance(place, str):
        return Cell(short(place), raw=place, hint=long_names(place))
    return Cell(place_text(place), exact=(repr(place),))


def figure_grid(figure: Figure) -> Grid:
    """The numbers behind a figure, as the page lists them; a single series is named."""
    table = figure_table(figure)
    heads = [column.head for column in table.columns]
    if len(figure.series) == 1 and figure.series[0].name not in heads:
        heads[-1] = ": ".join(filter(None, (figure.series[0].name, heads[-1])))
    rows = (
        tuple(
            Place(view.Value(cell.text, cell.interval), column.number and bool(cell.text))
            for cell, column in zip(row.cells, table.columns, strict=True)
        )
        for row in table.rows
    )
    return Grid(tuple(heads), tuple(rows))


def _place(cell: TableCell) -> Place:
    match cell:
        case None:
            return word("")
        case str():
            return word(cell)
        case Marked():
            return word(marked_words(cell))
        case Estimate():
            return Place(view.value(cell), True)
        case int():
            return number(f"{cell:,}")
        case _:
            return number(place_text(cell))
