"""The numbers of a table in the form of its CSV, for a page without the table itself."""

import re
from collections.abc import Iterator

from tlslab.domain.plain import plain
from tlslab.report.page.table import NOTHING, Cell, Column, Table

# The columns of an estimate in addition to its value.
_SPREAD = ("low", "high", "n")


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
    numbers = ["" if each == NOTHING else each for each in cell.exact]
    yield numbers[0] if numbers else cell.raw or cell.text
    if column.spread:
        yield from (*numbers[1:], *[""] * len(_SPREAD))[: len(_SPREAD)]
    if column.trials:
        yield cell.trials
