"""The parts of a page, each with its title and its summary line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tlslab.domain.figure import TextBlock
from tlslab.domain.finding import Comparison, Finding, Published, Summary
from tlslab.domain.wording import counted
from tlslab.report import view
from tlslab.report.cautions import Caution, left_out, warnings, without_result
from tlslab.report.facts import facts
from tlslab.report.names import short
from tlslab.report.page.drawn import Drawn, DrawnFlame
from tlslab.report.table import Cell, Column, Row, Table, exact

PartKind = Literal[
    "table", "figures", "text", "warnings", "findings", "excluded", "cells", "published",
    "method", "environment",
]  # fmt: skip

# The kind of the part with a study's ratios.
PUBLISHED: PartKind = "published"

# The largest length of a fold's summary line.
_LINE = 150

# The number of columns that a summary line names.
_NAMED = 5


@dataclass(frozen=True)
class Group:
    """Combinations that were left out for the same reason."""

    reason: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """A section of the page; `kind` determines which of its contents are set.

    `undrawn`: the titles of figures that only `summary.json` has.
    """

    kind: PartKind
    id: str
    title: str
    line: str = ""
    count: int = 0
    table: Table | None = None
    figures: tuple[Drawn, ...] = ()
    undrawn: tuple[str, ...] = ()
    flames: tuple[DrawnFlame, ...] = ()
    text: TextBlock | None = None
    cautions: tuple[Caution, ...] = ()
    findings: tuple[Finding, ...] = ()
    groups: tuple[Group, ...] = ()
    paragraphs: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    note: str = ""


def table_part(table: Table) -> Part:
    """A table; its summary line has its size and its columns."""
    heads = [column.head for column in table.columns if column.head][:_NAMED]
    line = table.caption or f"{counted(len(table.rows), 'row')}: {', '.join(heads)}"
    return Part("table", table.id, table.title, cut(line), table=table.fitted)


def figures_part(id_: str, title: str, line: str, figures: Sequence[Drawn], note: str = "") -> Part:
    """Figures below one title."""
    return Part("figures", id_, title, cut(line), figures=tuple(figures), note=note)


def text_part(text: TextBlock) -> Part:
    """A text to be copied."""
    lines = text.text.strip().count("\n") + 1
    line = text.caption or counted(lines, "line")
    return Part("text", f"text-{text.id}", text.title, cut(line), text=text)


def warnings_part(summary: Summary) -> Part | None:
    """The warnings for the reader, the gravest first; None without any."""
    found = warnings(summary)
    if not found:
        return None
    line = found[0].message
    return Part("warnings", "warnings", "Warnings", cut(line), len(found), cautions=found)


def findings_part(findings: Sequence[Finding]) -> Part | None:
    """The findings beside the answer; None without any."""
    if not findings:
        return None
    line = findings[0].text
    return Part(
        "findings", "findings", "Findings", cut(line), len(findings), findings=tuple(findings)
    )


def excluded_part(summary: Summary) -> Part | None:
    """Combinations that were not tried or are not supported, by reason; None without any."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out(summary):
        by_reason.setdefault(reason, []).append(short(name))
    groups = tuple(
        Group(reason, tuple(names))
        for reason, names in sorted(by_reason.items(), key=lambda each: -len(each[1]))
    )
    if not groups:
        return None
    total = sum(len(group.names) for group in groups)
    line = f"{counted(total, 'combination')}, {counted(len(groups), 'reason')}: {groups[0].reason}"
    return Part(
        "excluded", "excluded", "Not tried or not supported", cut(line), total, groups=groups
    )


def cells_part(summary: Summary) -> Part | None:
    """Cells without a valid result that no table shows, by reason; None without any."""
    by_reason: dict[str, list[str]] = {}
    for name, verdict, reason in without_result(summary):
        by_reason.setdefault(f"{verdict}: {reason}", []).append(short(name))
    groups = tuple(Group(reason, tuple(names)) for reason, names in by_reason.items())
    if not groups:
        return None
    total = sum(len(group.names) for group in groups)
    line = f"{counted(total, 'cell')}: {groups[0].reason}"
    return Part("cells", "cells", "Cells without a valid result", cut(line), total, groups=groups)


def published_part(summary: Summary) -> Part | None:
    """A study's ratios beside ours; None without a study."""
    study, rows = view.published(summary)
    if study is None:
        return None
    baseline = view.varied_label(summary.experiment.baseline, summary.experiment.baseline)
    line = f"ratios to {short(baseline)}: {study.source}"
    return Part(
        PUBLISHED,
        "published",
        "Published figures",
        cut(line),
        table=_published_table(study, rows).fitted,
        note=(
            f"Connections per second as ratios to {short(baseline)}. The study's client and server "
            "shared one host, so its ratios hold the work of both; the last column counts both "
            f"sides' processor time here. Source: {study.source}."
        ),
    )


def _published_table(study: Published, rows: Sequence[view.PublishedRow]) -> Table:
    columns = (
        Column("", "cell"),
        Column("study", "study", number=True),
        Column("here: server", "server", number=True, spread=True),
        Column("here: both sides", "both_sides", number=True, spread=True),
        Column("setting", "setting", factor=True),
    )
    return Table(
        "published-ratios",
        "Published figures",
        columns,
        tuple(
            Row(
                (
                    Cell(short(row.name)),
                    Cell(row.study, exact=exact(row.published)[:1]),
                    _ratio(row.comparison),
                    _ratio(row.comparison_of_both),
                    Cell(short(row.setting)),
                )
            )
            for row in rows
        ),
        study.source,
    )


def _ratio(found: Comparison | None) -> Cell:
    if found is None:
        return Cell()
    value = view.ratio_value(found)
    numbers = exact(found.ratio, found.low, found.high, found.n)
    return Cell(value.text, value.interval, exact=numbers, hint=value.method)


def method_part(summary: Summary, redo: str) -> Part:
    """The method of measurement, and the command that repeats the run."""
    return Part(
        "method",
        "method",
        "Method",
        cut((summary.method or MATRIX_METHOD)[0]),
        paragraphs=summary.method or MATRIX_METHOD,
        note=redo,
    )


def environment_part(summary: Summary) -> Part:
    """Place, time and tools of the run."""
    pairs = facts(summary)
    known = dict(pairs)
    words = [known.get(name, "") for name in ("Server", "Processor", "Kernel")]
    line = ", ".join(word for word in words if word) or summary.environment.created
    return Part("environment", "environment", "Environment", cut(line), pairs=pairs)


def cut(text: str) -> str:
    """A text on one line; a text that is too long ends after a whole word."""
    line = " ".join(text.split())
    if len(line) <= _LINE:
        return line
    return line[:_LINE].rsplit(" ", 1)[0].rstrip(",;:") + " …"


# The method of the kind `matrix`; other kinds have theirs in the summary.
MATRIX_METHOD = (
    "Each trial measures one cell twice against a server that is started afresh for each block of "
    "trials: with a lean client, which loads the server as far as it goes (rates, times, the "
    "server's cost), and with a client that draws new keys and verifies everything on every "
    "connection (the client's cost). The handshake of every connection was read and compared with "
    "the one asked for; others are counted as unexpected and never as results.",
    "Each number is the geometric mean of one value per trial with its interval over trials; "
    "ratios are paired by block. Ranks are those that the trials leave open: any two cells of a "
    "ranking are tested against each other, with Holm's adjustment for the number of tests; in the "
    "column of ratios a difference counts when it stands among all ratios of the page (false "
    'discovery rate of 5 %). "At most 4 %": the interval excludes a larger difference. '
    '"cannot tell": it does not exclude one of more than 10 %. The sum of primitives adds up the '
    "cryptography, the records and the bare TCP connection, by the fastest library of tlslab on "
    "this machine, measured before the first trial: a yardstick, which a faster implementation "
    "goes below.",
)
