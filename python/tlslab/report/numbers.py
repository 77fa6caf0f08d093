"""The tables of a summary, and the numbers behind its figures as tables, in words."""

from dataclasses import dataclass

from tlslab.domain.estimate import Estimate
from tlslab.domain.figure import DataTable, Figure, TableCell
from tlslab.report import view
from tlslab.report.page.numbers import figure_table
from tlslab.report.page.table import place_text


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
        case Estimate():
            return Place(view.value(cell), True)
        case int():
            return number(f"{cell:,}")
        case _:
            return number(place_text(cell))
