"""Tables of a page: cells with their exact numbers, columns with their reach."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    unit_shown,
)
from tlslab.domain.figure import DataTable, TableCell
from tlslab.domain.finding import DIFFERS
from tlslab.domain.wording import figure as figure_text
from tlslab.domain.wording import range_words
from tlslab.report.numbers import place_text
from tlslab.report.page.fitting_columns import NEVER, reaches
from tlslab.report.page.units import unit_beside

# The number of cells that must share a hint for it to become the row's.
SHARED = 3

# The text for a missing end of an interval among the exact numbers.
NOTHING = "-"


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    `exact`: the value, the ends of its interval and n, with all digits, as in `summary.json`; empty
    for words. `raw`: the text for copies if `text` is a short form. `extra`: the lines below the
    value. `hint`: shown on hover and in the row's details.
    """

    text: str = ""
    interval: str = ""
    extra: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    raw: str = ""
    hint: str = ""
    badge: str = ""
    samples: tuple[float, ...] = ()

    @property
    def numbers(self) -> str:
        """The exact numbers in one attribute."""
        return " ".join(self.exact)

    @property
    def trials(self) -> str:
        """The values of the trials in one attribute."""
        return " ".join(repr(float(sample)) for sample in self.samples)

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines of the cell's text."""
        return tuple(line for line in (self.text, self.interval, *self.extra, self.badge) if line)


@dataclass(frozen=True)
class Column:
    """A column: its heading with the unit, and its name in copies.

    `number`: it contains figures only. `spread`: these have intervals. `factor`: it can be filtered
    by its levels. `reach`: the narrowest page that shows it (`fitting_columns`). `paper`: print
    shows it.
    """

    head: str
    name: str
    unit: str = ""
    number: bool = False
    spread: bool = False
    factor: bool = False
    trials: bool = False
    hint: str = ""
    hidden: bool = False
    reach: int = 1
    paper: bool = True


@dataclass(frozen=True)
class Row:
    """A row; `state` is a class of its element, `objection` the objection of policies to it.

    `differs`: a difference from the baseline is established; None if the row makes no comparison.
    `key`: the cell, which a second run may have, too. `why`: spans a row without figures.
    """

    cells: tuple[Cell, ...]
    state: str = ""
    objection: str = ""
    differs: bool | None = None
    key: str = ""
    why: str = ""

    @property
    def objector(self) -> str:
        """The first policy that objects."""
        return self.objection.partition(":")[0]


@dataclass(frozen=True)
class Table:
    """A table of the page; the first column heads the rows."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str = ""
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def fitted(self) -> "Table":
        """The table, with the reach of its columns."""
        contents = [
            [row.cells[index] for row in self.rows if not row.why]
            for index in range(len(self.columns))
        ]
        found = reaches(
            [
                None if column.hidden else (column.head, [cell.lines for cell in cells])
                for column, cells in zip(self.columns, contents, strict=True)
            ]
        )
        columns = tuple(
            replace(column, reach=reach, paper=paper)
            for column, (reach, paper) in zip(self.columns, found, strict=True)
        )
        return replace(self, columns=columns)

    def usual_hint(self, row: Row) -> str:
        """The hint that most cells of a row share and that no column has; empty for none.

        It is shown once for the whole row: large tables would repeat methods in thousands of cells.
        """
        pairs = zip(row.cells, self.columns, strict=True)
        hints = [cell.hint for cell, column in pairs if cell.hint and cell.hint != column.hint]
        found = Counter(hints).most_common(1)
        return found[0][0] if found and found[0][1] >= SHARED else ""

    @property
    def shown(self) -> int:
        """The number of columns that the widest page shows."""
        return sum(column.reach < NEVER for column in self.columns)


def data_table(table: DataTable) -> Table:
    """A table of the summary; rows that are too short are filled up."""
    width = len(table.columns)
    rows = [(*row[:width], *[None] * (width - len(row))) for row in table.rows]
    columns = [
        column_of(head, [row[index] for row in rows]) for index, head in enumerate(table.columns)
    ]
    return Table(
        f"table-{table.id}",
        table.title,
        tuple(columns),
        tuple(
            Row(tuple(cell_of(cell) for cell in row), differs=_differs(table, row)) for row in rows
        ),
        table.caption,
    )


def _differs(table: DataTable, row: Sequence[TableCell]) -> bool | None:
    """Whether a comparison's row establishes a difference; None in other tables."""
    if "ratio" not in table.columns or "verdict" not in table.columns:
        return None
    return row[table.columns.index("verdict")] in DIFFERS


def column_of(head: str, cells: Sequence[TableCell], name: str = "") -> Column:
    """A column of the summary's data, with its estimates' common unit in the heading."""
    known = [cell for cell in cells if cell is not None]
    estimates = [cell for cell in known if isinstance(cell, Estimate)]
    unit = unit_beside(head, {each.unit for each in estimates})
    methods = {each.method for each in estimates}
    return Column(
        head=head,
        name=name or (f"{head}, {unit}" if unit else head),
        unit=unit,
        number=bool(known) and not any(isinstance(cell, str) for cell in known),
        spread=any(each.low is not None for each in estimates),
        factor=bool(known) and all(isinstance(cell, str) for cell in known),
        hint=methods.pop() if len(methods) == 1 else "",
    )


def cell_of(cell: TableCell) -> Cell:
    """A cell of the summary's data."""
    match cell:
        case None:
            return Cell()
        case str():
            return Cell(cell)
        case Estimate():
            return tile_cell(cell)
        case _:
            return Cell(place_text(cell), exact=(repr(cell),))


def estimate_cell(found: Estimate, bound: bool = False, scale: float = 1.0) -> Cell:
    """An estimate with its exact numbers; `bound`: a lower bound.

    `scale` applies to the display only.
    """
    text = figure_text(found.value * scale)
    return Cell(
        f"≥ {text}" if bound else text,
        "" if bound else interval_words(found.low, found.high, scale),
        exact=exact(found.value, found.low, found.high, found.n),
        hint=f"{'a lower bound: the server may do more; ' if bound else ''}{found.method}; "
        f"n = {found.n}",
    )


def exact(
    value: float | None, low: float | None = None, high: float | None = None, n: int | None = None
) -> tuple[str, ...]:
    """Numbers with all their digits, as in JSON."""
    if value is None:
        return ()
    return tuple(NOTHING if each is None else repr(each) for each in (value, low, high, n))


def interval_words(low: float | None, high: float | None, scale: float = 1.0) -> str:
    """An interval in figures; empty for none, and for one without width."""
    if low is None or high is None or low >= high:
        return ""
    return range_words(figure_text(low * scale), figure_text(high * scale))


def tile_cell(found: Estimate, bound: bool = False) -> Cell:
    """An estimate in its unit of display."""
    _, scale = unit_shown(found.unit)
    return estimate_cell(found, bound, scale)
