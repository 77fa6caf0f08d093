"""A summary's own tables, figures and texts for a terminal."""

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tlslab.model.finding import Summary
from tlslab.report.numbers import Grid, Place, figure_grid, lying, table_grid
from tlslab.report.plain import plain

# A figure with more rows or columns of numbers than this is left to the page.
_ROWS = 24
_COLUMNS = 7

_LIMIT = 1000

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
    """A grid as a table; one that is too wide lies on its side, if that is less wide."""

    def __init__(self, title: str, grid: Grid) -> None:
        self._upright = _table(title, grid)
        self._lying = _table(title, lying(grid))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        unbound = options.update(max_width=_UNBOUND)
        upright, lies = (
            Measurement.get(console, unbound, table).maximum
            for table in (self._upright, self._lying)
        )
        yield self._lying if lies < upright > options.max_width else self._upright


def _table(title: str, grid: Grid) -> Table:
    table = new_table(title)
    for column, number in zip(grid.columns, grid.numbers, strict=True):
        table.add_column(plain(column), justify="right" if number else "left", overflow="fold")
    for row in grid.rows:
        table.add_row(*(_place(place) for place in row))
    return table


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
