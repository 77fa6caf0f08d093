"""The answer of a run on one screen of a terminal.

From top to bottom: question, answer, picture, one table, the warnings that change the answer, and
two commands that go on from here. `text` has all of the report.
"""

from collections.abc import Sequence
from functools import partial

from rich.console import Group, RenderableType
from rich.text import Text

from tlslab.domain.estimates import (
    CLIENT_COST,
    CONNECTIONS,
    MICRO,
    OPEN_CLIENT_COST,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    SERVER_COST,
)
from tlslab.domain.figure import DataTable
from tlslab.domain.finding import Summary
from tlslab.domain.leading import answering
from tlslab.domain.plain import plain
from tlslab.report import view
from tlslab.report.brief import LINES, Rows, Screen
from tlslab.report.dots import Dots, has_dots
from tlslab.report.few_trials import shown
from tlslab.report.next_steps import foot, next_steps
from tlslab.report.numbers import Grid, Place, number, table_grid, word
from tlslab.report.terminal_tables import Upright
from tlslab.words import cautions
from tlslab.words.answer import answer_lines, question
from tlslab.words.load import load_words

# The project's own sentences may be longer than a server's texts.
_LIMIT = 2000

# The most cells of several settings in one table.
_FEW = 8

# What a report of one screen has of the connections that were made, or of those kept open.
_NEW = (CONNECTIONS, SERVER_COST, CLIENT_COST)
_OPEN = (OPEN_REQUESTS, OPEN_SERVER_COST, OPEN_CLIENT_COST)

# The heads of these columns, and what is said of a ratio that is not of the rate.
_RATES = {CONNECTIONS: "connections/s", OPEN_REQUESTS: "requests/s"}
_COSTS = (f"server {MICRO}", f"client {MICRO}")
_RATIOS = {SERVER_COST: f" of {_COSTS[0]}", CLIENT_COST: f" of {_COSTS[1]}"}


def render_short(summary: Summary, place: Sequence[str], lines: int = LINES) -> RenderableType:
    """The answer, on one screen. `place`: the run folder, or the folders of a comparison."""
    summary = shown(summary)
    return Screen(
        Group(*_head(summary)),
        _picture(summary),
        _table(summary),
        _warnings(summary),
        foot(next_steps(summary, place)),
        lines,
    )


def _head(summary: Summary) -> list[Text]:
    """Question, answer, its certainty, and the load."""
    lines = [Text(plain(question(summary), _LIMIT), style="bold"), Text()]
    answer = summary.answer
    if answer is None:
        return [*lines, Text(plain(view.headline(summary, view.sections(summary)), _LIMIT))]
    lines += [Text(plain(line, _LIMIT)) for line in answer_lines(answer)]
    beside = (answer.confidence, load_words(summary))
    return lines + [Text(plain(line, _LIMIT), style="dim") for line in beside if line]


def _picture(summary: Summary) -> Rows | None:
    """The ranking that answers; one row, or one trial for each, says no more than the table."""
    figure = view.answering_figure(summary)
    if figure is None or not has_dots(figure):
        return None
    points = [point for point in figure.series[0].points if point.y is not None]
    if len(points) < 2 or all(len(p.samples) < 2 and p.interval is None for p in points):
        return None
    return Rows(partial(Dots, figure), len(points), "row")


def _warnings(summary: Summary) -> Rows | None:
    lines, total = cautions.deciding(summary)
    if not total:
        return None

    def drawn(count: int) -> RenderableType:
        return Group(*(Text(f"! {plain(line, _LIMIT)}", style="yellow") for line in lines[:count]))

    return Rows(drawn, len(lines), "warning", total)


def _table(summary: Summary) -> Rows | None:
    """The ranking, else the first table that has columns for one screen, else the first."""
    if sections := view.sections(summary):
        return _ranked_rows(summary, sections)
    chosen = [each for each in summary.tables if each.brief] or list(summary.tables[:1])
    return _of_table(chosen[0]) if chosen else None


def _of_table(table: DataTable) -> Rows:
    grid = table_grid(table)
    wanted = table.brief or table.columns
    places = [grid.columns.index(name) for name in wanted]
    rows = tuple(tuple(_on_one_line(row[place]) for place in places) for row in grid.rows)
    return _grid_rows(table.title, Grid(tuple(wanted), rows))


def _ranked_rows(summary: Summary, sections: Sequence[view.Section]) -> Rows:
    """The cells of all settings, if they are few; else those of the answer's setting."""
    answered = "" if summary.answer is None else summary.answer.figure
    ordered = sorted(sections, key=lambda each: not answered.startswith(f"{each.id}-"))
    total = sum(len(each.rows) for each in ordered)
    few = ordered if total <= _FEW else ordered[:1]
    title = few[0].label if len(few) == 1 else "By setting"
    return _grid_rows(title, _ranked(summary, few), total)


def _grid_rows(title: str, grid: Grid, total: int = 0) -> Rows:
    def drawn(count: int) -> RenderableType:
        return Upright(title, Grid(grid.columns, grid.rows[:count]))

    lines = min(len(grid.rows), len(grid.columns) - 1)
    return Rows(drawn, len(grid.rows), "row", total, lines)


def _on_one_line(place: Place) -> Place:
    """A number with its interval beside it."""
    text = _joined(place.value)
    return Place(view.Value(text), place.number, place.style)


def _joined(value: view.Value) -> str:
    interval = value.interval if value.interval[:1].isdigit() or value.interval[:1] == "-" else ""
    return f"{value.text} ({interval})" if interval else value.text


def _ranked(summary: Summary, sections: Sequence[view.Section]) -> Grid:
    """The cells, a line each; ratios are by the ranking that answers."""
    ranking = answering(summary)
    by = CONNECTIONS if ranking is None else ranking.estimate
    requests, several = by == OPEN_REQUESTS, len(sections) > 1
    # Ratios of a study are of rates.
    study = view.studied(summary) if by == CONNECTIONS else {}
    rate, *costs = _OPEN if requests else _NEW
    heads = [_RATES[rate], f"ratio{_RATIOS.get(by, '')}", *(["study"] if study else []), *_COSTS]
    rows = []
    for section in sections:
        for row in section.kept_open if requests else section.rows:
            places = [word(row.rank), word(row.name, "bold" if row.leads else "")]
            places += [word(section.label)] if several else []
            places += [_figure(row.value(rate)), word(_ratio_words(summary, row, by))]
            places += [word(study.get(row.cell.key, ""))] if study else []
            rows.append((*places, *(_figure(row.value(cost)) for cost in costs)))
    return Grid(("#", "", *(["setting"] if several else []), *heads), tuple(rows))


def _figure(value: view.Value | None) -> Place:
    return number("" if value is None else value.text)


def _ratio_words(summary: Summary, row: view.Row, by: str) -> str:
    """The ratio to the baseline with its interval, or the reason for its absence."""
    if row.cell.verdict in ("invalid", "failed", "unsupported"):
        return row.verdict
    if row.is_baseline:
        return "baseline"
    found = view.find_comparison(summary, row.cell.key, by)
    if found is None or found.verdict == "not_comparable":
        return "a lower bound" if row.cell.is_bound(by) else "not compared"
    return ", ".join(filter(None, (_joined(view.ratio_value(found)), view.undecided(found))))
