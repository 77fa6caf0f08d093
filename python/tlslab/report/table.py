"""Tables of a page: cells with their exact numbers, columns with their reach.

Columns are in the order of their importance. Those that do not fit on a phone, a tablet, a desktop
or a sheet of paper appear on a click on the row.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import MICROSECONDS, PER_SECOND, SHARE, unit_shown
from tlslab.domain.figure import DataTable, Marked, TableCell
from tlslab.domain.finding import DIFFERS
from tlslab.domain.plain import plain
from tlslab.domain.wording import figure as figure_text
from tlslab.words.numbers import marked_words, range_words

# The number of cells that must share a hint for it to become the row's.
SHARED = 3

# The text for a missing end of an interval among the exact numbers.
NOTHING = "-"


# The width available to a table, in pixels, on pages of 390, 768 and 1,280 pixels, and on A4, where
# letters are smaller.
_PAGES = (330, 664, 940)
_PAPER = 800

# The reach of a column that no page shows.
NEVER = len(_PAGES) + 1

# Widths in pixels: a character of a cell's first line, of its further lines, of a heading; the
# padding of a cell.
_TEXT = 8.7
_SMALL = 7.6
_HEAD = 7.4
_FRAME = 18.0

# The button of a row stands in its first cell, which may fold its text to this width on a phone.
_BUTTON = 24.0
_FOLDED = 190.0
_WORDS = 200.0

# What a browser does not fold. Names with more characters are folded anywhere, at 8rem at least.
_UNFOLDED = re.compile(r"[^\s-]+-?")
_LONGEST = 20
_LEAST = 15

# The columns of an estimate in addition to its value, in copies.
_SPREAD = ("low", "high", "n")


# Units that a heading may already contain, by their words or names. The word share is not enough:
# figures are percentages.
_SAID = {
    PER_SECOND: ("/s", "per s", "second"),
    MICROSECONDS: ("µs", "us", "microseconds"),
    SHARE: ("%", "per cent"),
}

# No letter precedes a word; a letter may precede a sign (`connections/s`).
_BEFORE = r"(?<![A-Za-zµ])"


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
    def long(self) -> bool:
        """Whether its text has a word that is folded anywhere: IANA's names of suites."""
        return any(len(word) > _LONGEST for word in _UNFOLDED.findall(self.text))

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines of the cell's text."""
        return tuple(line for line in (self.text, self.interval, *self.extra, self.badge) if line)


@dataclass(frozen=True)
class Column:
    """A column: its heading with the unit, and its name in copies.

    `number`: it contains figures only. `spread`: these have intervals. `factor`: it can be filtered
    by its levels. `reach`: the narrowest page that shows it (`Table.fitted`). `paper`: print
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
        """The table, with the reach of its columns; the first one is always shown."""
        left = [float(limit) for limit in (*_PAGES, _PAPER)]
        columns = []
        folded = self._folded
        for index, column in enumerate(self.columns):
            if column.hidden:
                columns.append(replace(column, reach=NEVER, paper=False))
                continue
            width = _width(column.head, self._lines(index))
            for place in range(len(left)):
                least = min(width, _FOLDED if place == 0 else _WORDS)
                left[place] -= folded.get(index, least) if place == 0 else least
                left[place] -= _BUTTON if index == 0 else 0.0
            # After the first column that does not fit, no less important column is shown, either.
            fits = [index == 0 or room >= 0 for room in left]
            reach = next((place + 1 for place, fit in enumerate(fits[:-1]) if fit), NEVER)
            columns.append(replace(column, reach=reach, paper=fits[-1]))
        return replace(self, columns=tuple(columns))

    @property
    def _folded(self) -> dict[int, float]:
        """The widths on a phone of the words before the first figures, by column.

        As narrow as their longest words, if the figures have no room otherwise.
        """
        shown = [index for index, column in enumerate(self.columns) if not column.hidden]
        first = next((place for place, at in enumerate(shown) if self.columns[at].number), 0)
        widths = [_width(self.columns[at].head, self._lines(at)) for at in shown[: first + 1]]
        if _BUTTON + sum(min(width, _FOLDED) for width in widths) <= _PAGES[0]:
            return {}
        return {
            at: _width(self.columns[at].head, [_words(lines) for lines in self._lines(at)])
            for at in shown[:first]
        }

    def _lines(self, index: int) -> list[tuple[str, ...]]:
        """The lines of a column's cells."""
        return [row.cells[index].lines for row in self.rows if not row.why]

    def usual_hint(self, row: Row) -> str:
        """The hint that most cells of a row share and that no column has; empty for none.

        It is shown once for the whole row: large tables would repeat methods in thousands of cells.
        """
        pairs = zip(row.cells, self.columns, strict=True)
        hints = [cell.hint for cell, column in pairs if cell.hint and cell.hint != column.hint]
        usual = Counter(hints).most_common(1)
        return usual[0][0] if usual and usual[0][1] >= SHARED else ""

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
    unit = unit_beside(head, {estimate.unit for estimate in estimates})
    methods = {estimate.method for estimate in estimates}
    return Column(
        head=head,
        name=name or (f"{head}, {unit}" if unit else head),
        unit=unit,
        number=bool(known) and not any(isinstance(cell, str | Marked) for cell in known),
        spread=any(estimate.low is not None for estimate in estimates),
        factor=bool(known) and all(isinstance(cell, str | Marked) for cell in known),
        hint=methods.pop() if len(methods) == 1 else "",
    )


def unit_beside(head: str, units: Collection[str]) -> str:
    """The common unit of a column's estimates; empty if there is none, or if the head has it."""
    if len(units) != 1:
        return ""
    unit = next(iter(units))
    words, _ = unit_shown(unit)
    said = any(
        re.search(rf"{_BEFORE if word[0].isalpha() else ''}{re.escape(word)}(?![A-Za-z])", head)
        for word in _SAID.get(unit, (words or unit, unit))
        if word
    )
    return "" if said else words


def cell_of(cell: TableCell) -> Cell:
    """A cell of the summary's data."""
    match cell:
        case None:
            return Cell()
        case str():
            return Cell(cell)
        case Marked():
            return Cell(marked_words(cell))
        case Estimate():
            return tile_cell(cell)
        case _:
            return Cell(place_text(cell), exact=(repr(cell),))


def estimate_cell(estimate: Estimate, bound: bool = False, scale: float = 1.0) -> Cell:
    """An estimate with its exact numbers; `bound`: a lower bound.

    `scale` applies to the display only.
    """
    text = figure_text(estimate.value * scale)
    return Cell(
        f"≥ {text}" if bound else text,
        "" if bound else interval_words(estimate.low, estimate.high, scale),
        exact=exact(estimate.value, estimate.low, estimate.high, estimate.n),
        hint=f"{'a lower bound: the server may do more; ' if bound else ''}{estimate.method}; "
        f"n = {estimate.n}",
    )


def exact(
    value: float | None, low: float | None = None, high: float | None = None, n: int | None = None
) -> tuple[str, ...]:
    """Numbers with all their digits, as in JSON."""
    if value is None:
        return ()
    return tuple(NOTHING if number is None else repr(number) for number in (value, low, high, n))


def interval_words(low: float | None, high: float | None, scale: float = 1.0) -> str:
    """An interval in figures; empty for none, and for one without width."""
    if low is None or high is None or low >= high:
        return ""
    return range_words(figure_text(low * scale), figure_text(high * scale))


def tile_cell(estimate: Estimate, bound: bool = False) -> Cell:
    """An estimate in its unit of display."""
    _, scale = unit_shown(estimate.unit)
    return estimate_cell(estimate, bound, scale)


def place_text(place: float) -> str:
    """A place on an axis in figures; whole numbers without decimals."""
    return f"{place:,.0f}" if float(place).is_integer() else figure_text(place)


def _width(head: str, cells: Sequence[tuple[str, ...]]) -> float:
    """The width of a column in which only the heading is folded."""
    longest = max((len(word) for word in head.split()), default=0) * _HEAD
    for lines in cells:
        for index, line in enumerate(lines):
            longest = max(longest, len(line) * (_TEXT if index == 0 else _SMALL))
    return longest + _FRAME


def _words(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The longest part of each line that is not folded."""
    longest = (max(_UNFOLDED.findall(line), key=len, default="") for line in lines)
    return tuple(part if len(part) <= _LONGEST else part[:_LEAST] for part in longest)


def exact_text(table: Table) -> str:
    """A line for the headings and for each row, with tab-separated fields.

    `templates/table.js` derives the same text from the element of a table.
    """
    lines = [[name for column in table.columns for name in _names(column)]]
    for row in table.rows:
        pairs = zip(table.columns, row.cells, strict=True)
        lines.append([text for column, cell in pairs for text in _fields(column, cell)])
    return "\n".join("\t".join(plain(text, len(text)) for text in line) for line in lines)


def _names(column: Column) -> Iterator[str]:
    joint = " " if re.search(r"\s", column.name) else "_"
    yield column.name
    if column.spread:
        yield from (f"{column.name}{joint}{part}" for part in _SPREAD)
    if column.trials:
        yield f"{column.name}{joint}trials"


def _fields(column: Column, cell: Cell) -> Iterator[str]:
    numbers = ["" if number == NOTHING else number for number in cell.exact]
    yield numbers[0] if numbers else cell.raw or cell.text
    if column.spread:
        yield from (*numbers[1:], *[""] * len(_SPREAD))[: len(_SPREAD)]
    if column.trials:
        yield cell.trials
