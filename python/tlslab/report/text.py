"""The whole summary for a terminal: with `--details`, and of `tlslab report DIR --details`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
from tlslab.domain.figure import EMITTED
from tlslab.domain.finding import Summary
from tlslab.domain.plain import plain
from tlslab.domain.wording import counted, ratio_figure
from tlslab.report import view
from tlslab.report.commands import Command
from tlslab.report.dots import Dots, has_dots
from tlslab.report.facts import redo_words
from tlslab.report.few_trials import shown
from tlslab.report.legend import legend
from tlslab.report.numbers import Grid, Place, number, word
from tlslab.report.terminal_tables import captioned, made_parts, new_table
from tlslab.words import cautions
from tlslab.words.answer import answer_lines, enough_words, question
from tlslab.words.load import load_words
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


def render_text(summary: Summary) -> RenderableType:
    """The answer first; tables, one for each setting; all the rest as details."""
    summary = shown(summary)
    sections = view.sections(summary)
    hosts = [f"{host.name}: {host_words(host)}" for host in summary.hosts]
    parts: list[RenderableType | None] = [
        *_answered(summary),
        Text(),
        *_section_tables(summary, sections),
        *made_parts(_of_measured(summary)),
        Text("Details", style="bold"),
        Text(),
        _listing("Warnings", warning_lines(summary), "yellow"),
        *_details(summary, sections),
        _listing("Generators", hosts),
        *_tested(summary),
        Command("again: ", redo_words(summary)),
    ]
    return Group(*(part for part in parts if part is not None))


def _of_measured(summary: Summary) -> Summary:
    """The summary with the configurations of measured servers; others are `tlslab recommend`'s."""
    measured = {summary.environment.target.name, *summary.experiment.factors.get("server", ())}
    texts = (
        text
        for text in summary.texts
        if not text.id.startswith(EMITTED) or text.id.removeprefix(EMITTED) in measured
    )
    return replace(summary, texts=tuple(texts))


def _section_tables(
    summary: Summary, sections: tuple[view.Section, ...]
) -> Iterator[RenderableType]:
    """The tables of each setting, the first with its legend."""
    for place, section in enumerate(sections):
        open_ = [_kept_open(section)] if section.kept_open else []
        below = [_Legend(summary, sections)] if place == 0 else []
        yield Group(_SectionTable(section), *open_, *below, Text())


def _details(
    summary: Summary, sections: tuple[view.Section, ...]
) -> Iterator[RenderableType | None]:
    """Findings, published figures and left-out combinations."""
    without = cautions.without_result(summary)
    failed = [f"{name} ({verdict}): {why}" for name, verdict, why in without]
    large = view.general_findings(summary, sections)
    yield _listing("Cells without a valid result", failed, "red")
    yield _listing("What the numbers say", [finding.text for finding in large])
    for section in sections:
        yield _listing(section.label, [section.reported(each) for each in section.findings])
    yield _published(summary)
    yield _listing("Not tried or not supported", _left_out(summary))


def _tested(summary: Summary) -> list[RenderableType]:
    kept = summary.environment.selftest
    return [] if kept is None else [Text(f"self-test: {selftest_words(kept)}", style="dim")]


def _answered(summary: Summary) -> list[RenderableType]:
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
        parts += [Text(), Dots(drawn)]
    return parts


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

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _table(self.section, wide=options.max_width >= _WIDE)


def _table(section: view.Section, wide: bool) -> Table:
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
    for row in section.rows:
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


def _kept_open(section: view.Section) -> Table:
    sides = [f"server {MICRO}", f"client {MICRO}"]
    table = _ranked("connections kept open", ["requests/s", "ratio", *sides, "memory\nMB"])
    for row in section.kept_open:
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


def _published(summary: Summary) -> RenderableType | None:
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
    return captioned(title, study.source, Grid(heads, tuple(lines)))


def _listing(title: str, lines: Sequence[str], style: str = "cyan") -> RenderableType | None:
    """Sentences below their title; None for none."""
    if not lines:
        return None
    sentences = (Text(f"  {plain(line, _LIMIT)}") for line in lines)
    return Group(Text(title, style=f"bold {style}"), *sentences, Text())


def _warning(warning: cautions.Caution) -> str:
    return warning.message + (f" ({warning.about})" if warning.cells else "")
