"""The summary for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from tlslab.domain.estimates import (
    CLIENT_COST,
    CONNECTIONS,
    HANDSHAKE,
    MICRO,
    OPEN_CLIENT_COST,
    OPEN_MEMORY,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    SERVER_COST,
    WIRE_BYTES,
    parts_of,
    quantile,
)
from tlslab.domain.figure import Figure
from tlslab.domain.finding import Summary
from tlslab.domain.plain import plain
from tlslab.domain.wording import counted, ratio_figure
from tlslab.report import view
from tlslab.report.brief import Brief, Part
from tlslab.report.commands import Command
from tlslab.report.dots import axis_line, dot_lines, has_dots, marks_words
from tlslab.report.facts import load_words, redo_words
from tlslab.report.few_trials import shown
from tlslab.report.legend import legend
from tlslab.report.numbers import Grid, Place, number, word
from tlslab.report.terminal_tables import grid_part, made_parts, new_table
from tlslab.words import cautions
from tlslab.words.answer import answer_lines, enough_words, question
from tlslab.words.places import host_words
from tlslab.words.selftest import selftest_words
from tlslab.words.sentence import varied_label

_STYLES = {
    "valid": "",
    "lower bound": "yellow",
    "invalid": "red",
    "unsupported": "dim",
    "failed": "red",
}

# Below this many columns the table leaves out bytes and times, which the page has.
_WIDE = 112

# The project's own sentences may be longer than a server's texts.
_LIMIT = 2000

# The least number of columns to which a name is folded.
_NAME = 11

# Limits of a brief report: lines of tables, of details, of the ranking as dots, of warnings, of
# generators.
SCREENS = 100
SCREEN = 40
PICTURE = 50
CAUTIONS = 24
HOSTS = 12

# The rows of a setting, or of the ranking, in a brief report.
FIRST = 12
DOTS = 24


def render_text(summary: Summary, more: Sequence[str] = ()) -> RenderableType:
    """The answer first; tables, one for each setting; all the rest as details.

    `more`: the words of the command that prints the whole report. With them a few screens are
    shown, and the parts left out are named. Without them everything is shown.
    """
    summary = shown(summary)
    sections = view.sections(summary)
    tables = [*_section_parts(summary, sections), *made_parts(summary)]
    warnings = _list_part("Warnings", warning_lines(summary), "yellow", "warning")
    hosts = [f"{host.name}: {host_words(host)}" for host in summary.hosts]
    generators = _list_part("Generators", hosts, noun="generator")
    return Group(
        *_answered(summary, more),
        Text(),
        Brief(tables, SCREENS, more),
        Text("Details", style="bold"),
        Text(),
        Brief([warnings] if warnings else [], CAUTIONS, more),
        Brief(_details(summary, sections), SCREEN, more),
        Brief([generators] if generators else [], HOSTS, more),
        *_tested(summary),
        Command("again: ", redo_words(summary)),
    )


def _section_parts(summary: Summary, sections: tuple[view.Section, ...]) -> list[Part]:
    """The tables of each setting, the first with its legend."""
    parts = []
    for place, section in enumerate(sections):
        count = len(section.rows)
        below = [_Legend(summary, sections)] if place == 0 else []
        drawn = partial(_section, section, below)
        parts.append(Part(section.label, counted(count, "cell"), drawn(), count, drawn, FIRST))
    return parts


def _section(
    section: view.Section,
    below: Sequence[RenderableType],
    first: int | None = None,
    *rest: RenderableType,
) -> Group:
    """The tables of a setting, or their first rows."""
    open_ = [_kept_open(section, first)] if section.kept_open else []
    return Group(_SectionTable(section, first), *open_, *rest, *below, Text())


def _details(summary: Summary, sections: tuple[view.Section, ...]) -> list[Part]:
    """Findings, published figures and left-out combinations."""
    without = cautions.without_result(summary)
    failed = [f"{name} ({verdict}): {why}" for name, verdict, why in without]
    large = view.general_findings(summary, sections)
    parts = [
        _list_part("Cells without a valid result", failed, "red"),
        _list_part("What the numbers say", [finding.text for finding in large]),
        *(
            _list_part(section.label, [section.reported(each) for each in section.findings])
            for section in sections
        ),
        _published(summary),
        _list_part("Not tried or not supported", _left_out(summary)),
    ]
    return [part for part in parts if part is not None]


def _tested(summary: Summary) -> list[RenderableType]:
    kept = summary.environment.selftest
    return [] if kept is None else [Text(f"self-test: {selftest_words(kept)}", style="dim")]


def _answered(summary: Summary, more: Sequence[str]) -> list[RenderableType]:
    """Question, answer, its certainty, what would suffice, and the ranking as dots."""
    parts: list[RenderableType] = [Text(plain(question(summary), _LIMIT), style="bold"), Text()]
    answer = summary.answer
    if answer is None:
        return [*parts, Text(plain(view.headline(summary, view.sections(summary)), _LIMIT))]
    parts += [Text(plain(line, _LIMIT)) for line in answer_lines(answer)]
    if answer.lacking is not None and answer.lacking.command:
        parts.append(Command(enough_words(answer.lacking), answer.lacking.command))
    if answer.confidence:
        parts.append(Text(plain(answer.confidence, _LIMIT), style="dim"))
    if load := load_words(summary):
        parts.append(Text(plain(load, _LIMIT), style="dim"))
    if count := len(cautions.warnings(summary)):
        parts.append(Text(f"{counted(count, 'warning')}: see Details", style="yellow"))
    drawn = view.answering_figure(summary)
    if drawn is not None and has_dots(drawn):
        parts += [Text(), Brief([_dots_part(drawn)], PICTURE, more)]
    return parts


def _dots_part(drawn: Figure) -> Part:
    """A ranking as lines of dots."""
    count = sum(value is not None for value in drawn.series[0].y)
    size = counted(count, "cell")
    return Part(drawn.title, size, _Dots(drawn), count, partial(_few_dots, drawn), DOTS)


def _few_dots(drawn: Figure, first: int, rest: RenderableType) -> Group:
    return Group(_Dots(drawn, first), rest)


@dataclass(frozen=True)
class _Dots:
    """A ranking: a line for each cell, or for the first ones, and the meaning of its marks."""

    figure: Figure
    first: int | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        for line in dot_lines(self.figure, width)[: self.first]:
            yield Text(line.text, style="dim" if line.objected else "")
        yield Text(axis_line(self.figure, width), style="dim", no_wrap=True)
        yield Text(f"  {marks_words(self.figure)}", style="dim")


def warning_lines(summary: Summary) -> list[str]:
    """The warnings of a run, one per line, the gravest first."""
    return [_warning(each) for each in cautions.warnings(summary)]


def _left_out(summary: Summary) -> list[str]:
    """Cells that were not tried, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in cautions.left_out(summary):
        by_reason.setdefault(reason, []).append(name)
    total = len(summary.cells) + len(summary.excluded)
    return [
        f"{cautions.Caution(reason, tuple(names), total).about}: {reason}"
        for reason, names in by_reason.items()
    ]


@dataclass(frozen=True)
class _Legend:
    """The meaning of the first table's columns and terms; and the parts without room."""

    summary: Summary
    sections: tuple[view.Section, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in legend(self.summary, self.sections, options.max_width >= _WIDE):
            yield Text(f"  {plain(line, 1000)}", style="dim")


@dataclass(frozen=True)
class _SectionTable:
    """A section's table, as wide as the room allows."""

    section: view.Section
    first: int | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _table(self.section, self.first, wide=options.max_width >= _WIDE)


def _table(section: view.Section, first: int | None, wide: bool) -> Table:
    values = [value for row in section.rows for value in (row.value(CONNECTIONS), row.ratio)]
    interval = "95 %" if any(value and value.interval for value in values) else ""
    heads = [
        f"connections/s\n{interval}",
        f"ratio\n{interval}",
        f"server {MICRO}\nuser + system",
        f"client {MICRO}\nuser + system",
    ]
    if wide:
        heads += ["bytes of\nhandshake", "handshake ms\np50 / p99"]
    table = _ranked(section.label, heads)
    for row in section.rows[:first]:
        cells = _cells(row)
        table.add_row(*(cells if wide else cells[:6]))
    return table


def _ranked(title: str, heads: Sequence[str]) -> Table:
    """A table of rank, name and numbers; with little room, names are folded."""
    table = new_table(title)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("", overflow="fold", min_width=_NAME)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _cells(row: view.Row) -> list[Text]:
    ratio = Text("baseline" if row.is_baseline else "-", style="dim")
    if row.ratio is not None:
        ratio = _value(row.ratio)
        if row.undecided:
            ratio.append(f"\n{row.undecided}", style="dim")
    name = Text(row.name, style="bold" if row.leads else "")
    if row.cell.verdict != "valid":
        name.append(f"\n{row.verdict}", style=_STYLES[row.verdict])
    return [
        Text(row.rank),
        name,
        _value(row.value(CONNECTIONS)),
        ratio,
        _cost(row, SERVER_COST),
        _cost(row, CLIENT_COST),
        Text(_text(row.value(WIRE_BYTES))),
        Text(" / ".join(_text(row.value(quantile(HANDSHAKE, p))) for p in (50, 99))),
    ]


def _kept_open(section: view.Section, first: int | None) -> Table:
    sides = [f"server {MICRO}", f"client {MICRO}"]
    table = _ranked("connections kept open", ["requests/s", "ratio", *sides, "memory\nMB"])
    for row in section.kept_open[:first]:
        _, name, _, ratio, *_ = _cells(row)
        table.add_row(
            Text(row.rank),
            name,
            _value(row.value(OPEN_REQUESTS)),
            ratio,
            _cost(row, OPEN_SERVER_COST),
            _cost(row, OPEN_CLIENT_COST),
            _value(row.mega(OPEN_MEMORY)),
        )
    return table


def _value(value: view.Value | None) -> Text:
    if value is None:
        return Text("-", style="dim")
    return Text.assemble(value.text, (f"\n{value.interval}" if value.interval else "", "dim"))


def _cost(row: view.Row, estimate: str) -> Text:
    """A side's cost, and its parts in user space and in the kernel."""
    text = Text(_text(row.value(estimate)))
    values = [row.value(part) for part in parts_of(estimate)]
    if all(value is not None for value in values):
        text.append(f"\n{' + '.join(map(_text, values))}", style="dim")
    if estimate in view.LIMITS and (limit := row.limit(estimate)) is not None:
        text.append(f"\n{limit.text}", style="dim")
    return text


def _text(value: view.Value | None) -> str:
    return "-" if value is None else value.text


def _published(summary: Summary) -> Part | None:
    study, rows = view.published(summary)
    if study is None:
        return None
    baseline = varied_label(summary.experiment.baseline, summary.experiment.baseline)
    title = f"Published ratios to {baseline} beside ours"
    lines = []
    for row in rows:
        both = (row.ours, row.ours_both)
        ours = (view.ratio_value(found) if found else view.Value("") for found in both)
        ratios = (number(ratio_figure(row.study)), *(Place(value, True) for value in ours))
        lines.append((word(row.name), word(row.setting), *ratios))
    heads = ("", "here", "study", "ours: server", "ours: both sides")
    return grid_part(title, study.source, Grid(heads, tuple(lines)))


def _list_part(
    title: str, lines: list[str], style: str = "cyan", noun: str = "line"
) -> Part | None:
    """Sentences below their title; None for none."""
    if not lines:
        return None
    drawn = partial(_listing, title, style, lines)
    return Part(title, counted(len(lines), noun), drawn(), len(lines), drawn)


def _listing(
    title: str, style: str, lines: list[str], first: int | None = None, *rest: RenderableType
) -> Group:
    """Sentences, or the first of them, below their title."""
    sentences = (Text(f"  {plain(line, _LIMIT)}") for line in lines[:first])
    return Group(Text(title, style=f"bold {style}"), *sentences, *rest, Text())


def _warning(warning: cautions.Caution) -> str:
    return warning.message + (f" ({warning.about})" if warning.cells else "")
