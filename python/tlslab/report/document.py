"""A document as data: lines, lists and tables, which the terminal and Markdown render alike."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from tlslab.domain.plain import plain
from tlslab.report.markdown import escaped, table_lines
from tlslab.report.numbers import Grid
from tlslab.report.terminal_tables import fitting

# The project's own sentences may be longer than a server's texts.
_LIMIT = 2000


@dataclass(frozen=True)
class Line:
    """A sentence, empty for a gap; `style`: on a terminal; `level`: its depth in a list."""

    text: str
    style: str = ""
    level: int = 0


@dataclass(frozen=True)
class Listing:
    """Sentences below their title."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Table:
    """A table with notes below it; `marks`: all columns but the first have marks."""

    title: str
    grid: Grid
    notes: tuple[str, ...] = ()
    marks: bool = False


Block = Line | Listing | Table


def for_terminal(blocks: Iterable[Block]) -> RenderableType:
    """The document for a terminal; lines are folded at any width."""
    shown = list(blocks)
    parts: list[RenderableType] = []
    for block, after in pairwise([*shown, None]):
        match block:
            case Line(text):
                parts.append(_line(block, 0) if text else Text())
            case Listing(title, lines):
                parts.append(Text(plain(title), style="bold cyan"))
                parts += [_line(line, 2) for line in lines]
            case Table(title, grid, notes, marks):
                parts.append(_marks(title, grid) if marks else fitting(title, grid))
                parts += [_line(Line(note, "dim"), 2) for note in notes]
        if after is not None and not (isinstance(block, Line) and isinstance(after, Line)):
            parts.append(Text())
    return Group(*parts)


def _line(line: Line, indent: int) -> Padding:
    text = Text(plain(line.text, _LIMIT), style=line.style)
    return Padding(text, (0, 0, 0, indent + 2 * line.level), expand=False)


def _marks(title: str, grid: Grid) -> RichTable:
    """A table of many narrow columns, with less room between them."""
    table = RichTable(
        title=plain(title),
        title_justify="left",
        title_style="bold cyan",
        box=None,
        header_style="bold",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column(plain(grid.columns[0]), overflow="fold", min_width=20)
    for head in grid.columns[1:]:
        table.add_column(plain(head), justify="center", no_wrap=True)
    for row in grid.rows:
        table.add_row(*(Text(plain(place.value.text), style=place.style) for place in row))
    return table


def as_markdown(title: str, blocks: Iterable[Block], details: Iterable[Block] = ()) -> str:
    """The document as Markdown, without any markup of a server's; `details` are folded."""
    lines = [f"## {escaped(title)}", "", *_markdown(blocks)]
    if folded := [*_markdown(details)]:
        lines += ["<details>", "<summary>Details</summary>", "", *folded, "</details>"]
    return "\n".join(lines).rstrip() + "\n"


def _markdown(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Line(""):
                pass
            case Line(text, style):
                yield from (f"**{escaped(text)}**" if style == "bold" else escaped(text), "")
            case Listing(title, lines):
                items = (f"{'  ' * line.level}- {escaped(line.text)}" for line in lines)
                yield from (f"### {escaped(title)}", "", *items, "")
            case Table(title, grid, notes, marks):
                yield from table_lines(title, grid, missing="" if marks else "-")
                for note in notes:
                    yield from (escaped(note), "")
