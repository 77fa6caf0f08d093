"""The content that a page leaves out to be light enough, level by level."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tlslab.report.page.drawn import WHOLE, Drawing
from tlslab.report.page.page_parts import PUBLISHED, Part
from tlslab.report.page.results import OF_CELLS, RESULTS
from tlslab.report.table import NEVER, Table

# The part whose drawings are limited separately.
USES = "use"


@dataclass(frozen=True)
class Thrift:
    """The content that a page leaves out; by default the least that any page does.

    `details`, `main`, `picture`: the drawing of figures in Details, before them, in the answer.
    `uses`, `flames`, `figures`: the largest numbers of drawings of processor use, flame graphs,
    other figures in Details. `cell_rows`, `rows`, `main_rows`: the largest numbers of rows of
    further tables of all cells in Details, of the results and other tables there, of tables before
    Details. `hints`: cells have the methods of their estimates. `hidden`: columns that no page
    width shows are present.
    """

    details: Drawing = WHOLE
    main: Drawing = WHOLE
    picture: Drawing = WHOLE
    uses: int = 24
    flames: int = 6
    figures: int | None = None
    cell_rows: int | None = None
    rows: int | None = None
    main_rows: int | None = None
    hints: bool = True
    hidden: bool = True

    @property
    def words(self) -> str:
        """The contents that are left out all over the page, and where they are; empty for none."""
        parts = list(self._left_out())
        if not parts:
            return ""
        return f"To keep this page small, these are in summary.json alone: {'; '.join(parts)}."

    def _left_out(self) -> Iterator[str]:
        if not self.hints:
            yield "how each estimate was made (estimates, method)"
        if not self.details.trials:
            yield "single trials of the charts in Details (figures, samples)"


_ONE_AXIS = Drawing(both_axes=False)
_ONE_WIDTH = replace(_ONE_AXIS, widths=False)
_SHORT = replace(_ONE_WIDTH, listed=30)
_BARE = replace(_SHORT, hover=False)
_UNLISTED = replace(_BARE, listed=0)
_PLAIN = replace(_UNLISTED, deployable=False, trials=False)

# The answer's own chart stays whole to the last, and so do the results' columns, which filters use.
_LEAN = Thrift(details=_PLAIN, main=_UNLISTED, uses=6, flames=0, figures=8, hints=False)
_FEW = replace(_LEAN, uses=2, figures=3, cell_rows=16)
_SPARE = replace(_FEW, uses=0, figures=1, cell_rows=10, hidden=False)
_PICTURE = replace(_ONE_WIDTH, listed=0)

# From content that nobody misses to content that only an unlimited page has: a page uses the first
# level that makes it light enough. Tables of the analysis are complete except at the last level,
# because documents cite their rows; further tables of all cells repeat the rows of the results.
LEVELS = (
    Thrift(),
    Thrift(details=_ONE_AXIS, flames=3),
    Thrift(details=_ONE_WIDTH, flames=2),
    Thrift(details=_ONE_WIDTH, main=_ONE_AXIS, flames=1),
    Thrift(details=_SHORT, main=_ONE_AXIS, uses=12, flames=1),
    Thrift(details=_BARE, main=_BARE, uses=12, flames=0),
    _LEAN,
    _FEW,
    replace(_FEW, hidden=False),
    _SPARE,
    replace(_SPARE, picture=_PICTURE),
    replace(
        _SPARE,
        main=replace(_PLAIN, places=30),
        picture=replace(_PICTURE, trials=False, places=40),
        figures=0,
        rows=20,
        main_rows=40,
    ),
)
THRIFTIEST = len(LEVELS) - 1


def lighter_main(parts: Iterable[Part], thrift: Thrift) -> tuple[Part, ...]:
    """The parts before Details."""
    return tuple(_lighter(part, thrift, thrift.main, thrift.main_rows) for part in parts)


def lighter_details(parts: Iterable[Part], thrift: Thrift) -> tuple[Part, ...]:
    """Parts of Details; the first figures get the room for figures."""
    lighter = []
    left = thrift.figures
    for part in parts:
        kept = part
        if part.figures and part.id != USES and left is not None:
            drawn, undrawn = part.figures[:left], part.figures[left:]
            left -= len(drawn)
            titles = tuple(figure.figure.title for figure in undrawn)
            kept = replace(part, figures=drawn, undrawn=titles)
        lighter.append(_lighter(kept, thrift, thrift.details, _most_rows(part, thrift)))
    return tuple(lighter)


def _most_rows(part: Part, thrift: Thrift) -> int | None:
    repeated = part.id in OF_CELLS and part.id != RESULTS
    return thrift.cell_rows if repeated else thrift.rows


def _lighter(part: Part, thrift: Thrift, drawing: Drawing, rows: int | None) -> Part:
    lean = replace(part, figures=tuple(figure.lighter(drawing) for figure in part.figures))
    return lean if lean.table is None else _with_lighter_table(lean, lean.table, thrift, rows)


def _with_lighter_table(part: Part, table: Table, thrift: Thrift, most: int | None) -> Part:
    left_out = []
    if not thrift.hints:
        table = _without_hints(table)
    hidden = [column.head for column in table.columns if column.reach == NEVER]
    if most is not None and len(table.rows) > most:
        left_out.append(f"all but the first {most} of {len(table.rows)} rows")
        table = replace(table, rows=table.rows[:most])
    if not thrift.hidden and hidden and part.id in OF_CELLS:
        left_out.append(f"the columns {'; '.join(hidden)}")
        table = _without_hidden(table)
    if not left_out:
        return replace(part, table=table)
    said = f"To keep this page small, these are in summary.json alone ({_place(part)}): "
    return replace(part, table=table, note=f"{part.note} {said}{', and '.join(left_out)}.".strip())


def _place(part: Part) -> str:
    """The key of `summary.json` that has the numbers of a table."""
    if part.id in OF_CELLS:
        return "cells"
    return "comparisons" if part.id == PUBLISHED else "tables"


def _without_hints(table: Table) -> Table:
    """The table without the methods of its estimates; names keep IANA's.

    If the hint is that of the column, it says nothing about the cell. The reason for a missing
    number stays.
    """
    rows = (
        replace(
            row,
            cells=tuple(
                replace(cell, hint=column.hint) if cell.exact else cell
                for cell, column in zip(row.cells, table.columns, strict=True)
            ),
        )
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


def _without_hidden(table: Table) -> Table:
    """The table without the columns that no page width shows."""
    kept = [index for index, column in enumerate(table.columns) if column.reach < NEVER]
    rows = (replace(row, cells=tuple(row.cells[index] for index in kept)) for row in table.rows)
    columns = tuple(table.columns[index] for index in kept)
    return replace(table, columns=columns, rows=tuple(rows))
