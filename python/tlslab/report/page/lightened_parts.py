"""Lighter versions of a page's parts, each with a sentence on what is left out."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from tlslab.report.page.fitting_columns import NEVER
from tlslab.report.page.page_parts import PUBLISHED, Part
from tlslab.report.page.results import OF_CELLS, RESULTS
from tlslab.report.page.table import Cell, Column, Table
from tlslab.report.page.weight_levels import Drawing, Thrift

# The part whose drawings are limited separately.
USES = "use"

_Change = Callable[[Cell, Column], Cell]


def lighter_main(parts: Iterable[Part], thrift: Thrift) -> tuple[Part, ...]:
    """The parts before Details."""
    return tuple(_lighter(part, thrift, thrift.main, thrift.main_rows) for part in parts)


def lighter_details(parts: Iterable[Part], thrift: Thrift) -> tuple[Part, ...]:
    """Parts of Details; the first figures get the room for figures."""
    found = []
    left = thrift.figures
    for part in parts:
        kept = part
        if part.figures and part.id != USES and left is not None:
            drawn, undrawn = part.figures[:left], part.figures[left:]
            left -= len(drawn)
            titles = tuple(each.figure.title for each in undrawn)
            kept = replace(part, figures=drawn, undrawn=titles)
        found.append(_lighter(kept, thrift, thrift.details, _most_rows(part, thrift)))
    return tuple(found)


def _most_rows(part: Part, thrift: Thrift) -> int | None:
    repeated = part.id in OF_CELLS and part.id != RESULTS
    return thrift.cell_rows if repeated else thrift.rows


def _lighter(part: Part, thrift: Thrift, drawing: Drawing, rows: int | None) -> Part:
    lean = replace(part, figures=tuple(each.lighter(drawing) for each in part.figures))
    return lean if lean.table is None else _with_lighter_table(lean, lean.table, thrift, rows)


def _with_lighter_table(part: Part, table: Table, thrift: Thrift, most: int | None) -> Part:
    left_out = []
    if not thrift.hints:
        table = _each_cell(table, _without_hint)
    if thrift.hidden == "values":
        table = _each_cell(table, _without_hidden_interval)
    hidden = [column.head for column in table.columns if column.reach == NEVER]
    if most is not None and len(table.rows) > most:
        left_out.append(f"all but the first {most} of {len(table.rows)} rows")
        table = replace(table, rows=table.rows[:most])
    if thrift.hidden == "none" and hidden and part.id in OF_CELLS:
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
    return "comparisons" if part.kind == PUBLISHED else "tables"


def _each_cell(table: Table, change: _Change) -> Table:
    rows = (replace(row, cells=tuple(map(change, row.cells, table.columns))) for row in table.rows)
    return replace(table, rows=tuple(rows))


def _without_hint(cell: Cell, column: Column) -> Cell:
    """The cell without the method of its estimate; names keep IANA's.

    If the hint is that of the column, it says nothing about the cell. The reason for a missing
    number stays.
    """
    return replace(cell, hint=column.hint) if cell.exact else cell


def _without_hidden_interval(cell: Cell, column: Column) -> Cell:
    return replace(cell, interval="") if column.reach == NEVER else cell


def _without_hidden(table: Table) -> Table:
    """The table without the columns that no page width shows."""
    kept = [index for index, column in enumerate(table.columns) if column.reach < NEVER]
    rows = (replace(row, cells=tuple(row.cells[index] for index in kept)) for row in table.rows)
    columns = tuple(table.columns[index] for index in kept)
    return replace(table, columns=columns, rows=tuple(rows))
