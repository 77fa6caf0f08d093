"""A summary's own tables, figures and texts for a terminal."""

from collections.abc import Iterator, Sequence
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from tlslab.domain.finding import Summary
from tlslab.domain.plain import plain
from tlslab.domain.wording import counted
from tlslab.report import view
from tlslab.report.numbers import Grid, Place, figure_grid, lying, table_grid

# A figure with more rows or columns of numbers is left to the page.
_ROWS = 24
_COLUMNS = 7

_LIMIT = 1000

# A word of up to this many columns is not folded.
_NAME = 16

# Neither is an address of up to this many columns, which would be useless in two halves.
_ADDRESS = 72


def made_parts(summary: Summary) -> Iterator[RenderableType]:
    """The tables, the numbers behind the figures, the texts, each with its title and caption."""
    for table in summary.tables:
        yield captioned(table.title, table.caption, table_grid(table))
    for figure in summary.figures:
        if figure.of_setting:
            continue
        grid = figure_grid(figure)
        if len(grid.rows) <= _ROWS and len(grid.columns) <= _COLUMNS:
            unit = f"{figure.y_title}. " if figure.y_title not in " ".join(grid.columns) else ""
            yield captioned(figure.title, f"{unit}{figure.caption}", grid)
        else:
            points = counted(len(grid.rows), "point")
            line = Text(f"{plain(figure.title)}: {points}, drawn on the page", style="dim")
            yield Group(line, Text())
    for text in summary.texts:
        title = Text(plain(text.title), style="bold cyan")
        lines = map(_whole, text.text.split("\n"))
        yield Group(title, *_caption(text.caption), *lines, Text())


def new_table(title: str = "") -> Table:
    """An empty table in the common style."""
    return Table(
        title=plain(title) or None,
        title_justify="left",
        title_style="bold cyan",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


class _Fitting:
    """A grid as a table that fits: upright, else transposed, else split into parts below each
    other.

    Names are folded if necessary; numbers are never broken, and no column is left out.
    """

    def __init__(self, title: str, grid: Grid) -> None:
        self._title = title
        self._grid = grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        both = [Fit(self._grid), Fit(lying(self._grid))]
        for fit in both:
            if fit.most <= width:
                yield from _below(self._title, fit.table(width))
                return
        for fit in both:
            if fit.least <= width:
                yield from _below(self._title, fit.table(width))
                return
        yield from self._parts(width)

    def _parts(self, width: int) -> RenderResult:
        """As many tables as needed, each with the columns that name the rows."""
        names = _naming(self._grid, width // 2)
        left = [index for index in range(len(self._grid.columns)) if index not in names]
        title = self._title
        while left:
            some = left[:1]
            # A wide column leaves room for fewer of the naming columns.
            while len(names) > 1 and Fit(_columns(self._grid, (*names, *some))).least > width:
                names = names[:-1]
            for index in left[1:]:
                if Fit(_columns(self._grid, (*names, *some, index))).least > width:
                    break
                some.append(index)
            yield from _below(title, Fit(_columns(self._grid, (*names, *some))).table(width))
            left = left[len(some) :]
            title = f"{self._title} (continued)"


def _below(title: str, table: Table) -> RenderResult:
    """A table below its title; a title of the table itself would be folded at its width."""
    yield Text(plain(title), style="bold cyan")
    yield table


class Fit:
    """The least widths of a grid's columns without broken content, and their preferred widths."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._ranges = [_range(grid, index) for index in range(len(grid.columns))]

    @property
    def least(self) -> int:
        """The least width at which no number is broken."""
        return sum(least for least, _ in self._ranges) + self._frame

    @property
    def most(self) -> int:
        """The width at which nothing is folded."""
        return sum(most for _, most in self._ranges) + self._frame

    @property
    def _frame(self) -> int:
        """The width of a table beside its columns' content: a blank at each edge, gaps of two."""
        return 2 * len(self._ranges)

    def table(self, width: int) -> Table:
        """The table, no wider than `width` if its least width allows."""
        table = new_table()
        grid = self._grid
        widths = self._widths(width)
        for index, number in enumerate(grid.numbers):
            justify: Literal["left", "right"] = "right" if number else "left"
            column = plain(grid.columns[index])
            table.add_column(column, justify=justify, overflow="fold", width=widths[index])
        for row in grid.rows:
            table.add_row(*(_place(place) for place in row))
        return table

    def _widths(self, width: int) -> list[int]:
        """The width of each column: its least width, and an equal share of the rest."""
        widths = [least for least, _ in self._ranges]
        spare = width - self._frame - sum(widths)
        while spare > 0:
            wanting = [i for i, (_, most) in enumerate(self._ranges) if widths[i] < most]
            if not wanting:
                break
            for index in wanting[:spare]:
                widths[index] += 1
            spare -= len(wanting[:spare])
        return widths


def _naming(grid: Grid, width: int) -> tuple[int, ...]:
    """The columns that name a row: the first, and the columns of words that follow it."""
    names = [0]
    for index in range(1, len(grid.columns)):
        if grid.numbers[index] or Fit(_columns(grid, (*names, index))).least > width:
            break
        names.append(index)
    return tuple(names)


def _columns(grid: Grid, wanted: Sequence[int]) -> Grid:
    """Some columns of a grid."""
    rows = tuple(tuple(row[index] for index in wanted) for row in grid.rows)
    return Grid(tuple(grid.columns[index] for index in wanted), rows)


def _range(grid: Grid, index: int) -> tuple[int, int]:
    """The least width of a column's content, and the width at which nothing is folded."""
    head = plain(grid.columns[index])
    places = [row[index] for row in grid.rows]
    lines = [_longest_line(place.value) for place in places]
    figures = [_longest_line(place.value) for place in places if place.number]
    words = [_longest_word(place.value.text) for place in places]
    folded = min(_NAME, max([_longest_word(head), *words]))
    addresses = [min(_ADDRESS, _longest_address(place.value.text)) for place in places]
    return max([1, folded, *figures, *addresses]), max([1, cell_len(head), *lines])


def _longest_line(value: view.Value) -> int:
    return max(cell_len(plain(value.text)), cell_len(value.interval))


def _longest_word(text: str) -> int:
    return max((cell_len(word) for word in plain(text).split()), default=1)


def _longest_address(text: str) -> int:
    return max((cell_len(word) for word in plain(text).split() if "://" in word), default=0)


class Upright:
    """A grid as a table without a frame, for one screen: as it stands, if it fits at all."""

    def __init__(self, title: str, grid: Grid) -> None:
        self._title = title
        self._grid = grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        fit = Fit(self._grid)
        if fit.least > options.max_width:
            yield _Fitting(self._title, self._grid)
            return
        table = fit.table(options.max_width)
        table.show_edge = False
        yield from _below(self._title, table)


def fitting(title: str, grid: Grid) -> RenderableType:
    """A grid as a table that fits any width, with nothing broken and nothing left out."""
    return _Fitting(title, grid)


def captioned(title: str, caption: str, grid: Grid) -> RenderableType:
    """A grid below its title, with its caption."""
    # The caption of a table without rows gives the reason.
    table = fitting(title, grid) if grid.rows else Text(plain(title), style="bold cyan")
    return Group(table, *_caption(caption), Text())


def _place(place: Place) -> Text:
    value = place.value
    if not value.text:
        return Text("-", style="dim")
    interval = f"\n{value.interval}" if value.interval else ""
    return Text.assemble((plain(value.text), place.style), (interval, "dim"))


def _whole(line: str) -> Text:
    """A line of a configuration: neither folded nor cut, because half a line is another setting."""
    return Text(f"  {plain(line, len(line))}", no_wrap=True, overflow="ignore")


def _caption(caption: str) -> list[RenderableType]:
    return [Text(f"  {plain(caption, _LIMIT)}", style="dim")] if caption else []
