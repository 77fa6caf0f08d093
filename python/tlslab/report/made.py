"""A summary's own tables, figures and texts for a terminal."""

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tlslab.model.finding import Summary
from tlslab.report import view
from tlslab.report.numbers import Grid, Place, figure_grid, lying, table_grid
from tlslab.report.plain import plain

# A figure with more rows or columns of numbers than this is left to the page.
_ROWS = 24
_COLUMNS = 7

_LIMIT = 1000

# A word of so many columns is not folded.
_NAME = 16

# As wide as a table may want to be.
_UNBOUND = 10_000


def made_parts(summary: Summary) -> list[RenderableType]:
    """The tables, the numbers behind the figures, the texts, each with its title and caption."""
    parts: list[RenderableType] = []
    for table in summary.tables:
        parts += _grid(table.title, table.caption, table_grid(table))
    for figure in summary.figures:
        grid = figure_grid(figure)
        if len(grid.rows) <= _ROWS and len(grid.columns) <= _COLUMNS:
            unit = f"{figure.y_title}. " if figure.y_title not in " ".join(grid.columns) else ""
            parts += _grid(figure.title, f"{unit}{figure.caption}", grid)
        else:
            count = f"{plain(figure.title)}: {len(grid.rows)} points, drawn on the page"
            parts += [Text(count, style="dim"), Text()]
    for text in summary.texts:
        parts += [Text(plain(text.title), style="bold cyan"), *_caption(text.caption)]
        parts += [Text(f"  {plain(line, _LIMIT)}") for line in text.text.split("\n")]
        parts.append(Text())
    return parts


def new_table(title: str) -> Table:
    """An empty table in the style of all."""
    return Table(
        title=plain(title),
        title_justify="left",
        title_style="bold cyan",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


class _Fitting:
    """A grid as a table that fits: upright, else on its side, else in parts below each other.

    Names are folded where they have to be; numbers are never broken, and no column is left out.
    """

    def __init__(self, title: str, grid: Grid) -> None:
        self._title = title
        self._grid = grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        upright, lies = self._grid, lying(self._grid)
        widths = [_least(console, options, _table("", each)) for each in (upright, lies)]
        if widths[0] <= options.max_width:
            wants = _most(console, options, _table("", upright))
            better = wants > options.max_width and widths[1] <= options.max_width
            lies_wants = _most(console, options, _table("", lies))
            if better and lies_wants <= options.max_width:
                upright = lies
            yield _table(self._title, upright)
        elif widths[1] <= options.max_width:
            yield _table(self._title, lies)
        else:
            yield from self._parts(console, options)

    def _parts(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As many tables as are needed, each with the first column and some of the others."""
        left = list(range(1, len(self._grid.columns)))
        title = self._title
        while left:
            some = left[:1]
            for index in left[1:]:
                part = _columns(self._grid, (0, *some, index))
                if _least(console, options, _table("", part)) > options.max_width:
                    break
                some.append(index)
            yield _table(title, _columns(self._grid, (0, *some)))
            left = left[len(some) :]
            title = f"{self._title} (continued)"


def _columns(grid: Grid, wanted: Sequence[int]) -> Grid:
    """Some columns of a grid."""
    rows = tuple(tuple(row[index] for index in wanted) for row in grid.rows)
    return Grid(tuple(grid.columns[index] for index in wanted), rows)


def _least(console: Console, options: ConsoleOptions, table: Table) -> int:
    """The least width at which no number is broken."""
    return Measurement.get(console, options.update(max_width=_UNBOUND), table).minimum


def _most(console: Console, options: ConsoleOptions, table: Table) -> int:
    """The width at which nothing is folded."""
    return Measurement.get(console, options.update(max_width=_UNBOUND), table).maximum


def _table(title: str, grid: Grid) -> Table:
    table = new_table(title)
    for index, (column, number) in enumerate(zip(grid.columns, grid.numbers, strict=True)):
        texts = [row[index].value for row in grid.rows]
        figures = [row[index].value for row in grid.rows if row[index].number]
        whole = texts if number else figures
        least = max(
            [*map(_longest_line, whole), min(_NAME, max(map(_longest_word, texts), default=0))]
        )
        table.add_column(
            plain(column),
            justify="right" if number else "left",
            overflow="fold",
            min_width=max(least, min(_NAME, _longest_word_of(column))),
        )
    for row in grid.rows:
        table.add_row(*(_place(place) for place in row))
    return table


def _longest_line(value: view.Value) -> int:
    return max(cell_len(value.text), cell_len(value.interval))


def _longest_word(value: view.Value) -> int:
    return _longest_word_of(value.text)


def _longest_word_of(text: str) -> int:
    return max((cell_len(word) for word in plain(text, _LIMIT).split()), default=1)


def _grid(title: str, caption: str, grid: Grid) -> list[RenderableType]:
    return [_Fitting(title, grid), *_caption(caption), Text()]


def _place(place: Place) -> Text:
    value = place.value
    if not value.text:
        return Text("-", style="dim")
    interval = f"\n{value.interval}" if value.interval else ""
    return Text.assemble(plain(value.text), (interval, "dim"))


def _caption(caption: str) -> list[RenderableType]:
    return [Text(f"  {plain(caption, _LIMIT)}", style="dim")] if caption else []
