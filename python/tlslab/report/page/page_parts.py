"""The parts of a page, each with its title and its summary line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tlslab.domain.figure import TextBlock
from tlslab.domain.finding import Comparison, Finding, Summary
from tlslab.domain.wording import counted, ratio_figure
from tlslab.report import view
from tlslab.report.facts import facts
from tlslab.report.names import short
from tlslab.report.page.drawn import Drawn, DrawnFlame
from tlslab.report.table import Cell, Column, Row, Table, exact
from tlslab.words.cautions import Caution, left_out, warnings, without_result
from tlslab.words.sentence import varied_label

PartKind = Literal[
    "table", "figures", "text", "warnings", "findings", "groups", "method", "environment",
]  # fmt: skip

# The part with a study's ratios.
PUBLISHED = "published"

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
    listed = warnings(summary)
    if not listed:
        return None
    line = listed[0].message
    return Part("warnings", "warnings", "Warnings", cut(line), len(listed), cautions=listed)


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
    groups = _by_reason(left_out(summary))
    groups.sort(key=lambda group: -len(group.names))
    many = f", {counted(len(groups), 'reason')}"
    return _groups_part("excluded", "Not tried or not supported", "combination", groups, many)


def cells_part(summary: Summary) -> Part | None:
    """Cells without a valid result that no table shows, by reason; None without any."""
    without = without_result(summary)
    groups = _by_reason((name, f"{verdict}: {why}") for name, verdict, why in without)
    return _groups_part("cells", "Cells without a valid result", "cell", groups)


def _by_reason(pairs: Iterable[tuple[str, str]]) -> list[Group]:
    """Names by their reasons."""
    names: dict[str, list[str]] = {}
    for name, reason in pairs:
        names.setdefault(reason, []).append(short(name))
    return [Group(reason, tuple(listed)) for reason, listed in names.items()]


def _groups_part(
    id_: str, title: str, noun: str, groups: Sequence[Group], more: str = ""
) -> Part | None:
    if not groups:
        return None
    total = sum(len(group.names) for group in groups)
    line = f"{counted(total, noun)}{more}: {groups[0].reason}"
    return Part("groups", id_, title, cut(line), total, groups=tuple(groups))


def published_part(summary: Summary) -> Part | None:
    """A study's ratios beside ours; None without a study."""
    study, rows = view.published(summary)
    if study is None:
        return None
    baseline = short(varied_label(summary.experiment.baseline, summary.experiment.baseline))
    caption = (
        f"Connections per second as ratios to {baseline}. The study's client and server shared "
        "one host, so its ratios hold the work of both; the last column counts both sides' "
        f"processor time here. Source: {study.source}."
    )
    columns = (
        Column("", "cell"),
        Column("study", "study", number=True),
        Column("here: server", "server", number=True, spread=True),
        Column("here: both sides", "both_sides", number=True, spread=True),
        Column("setting", "setting", factor=True),
    )
    cells = (
        (
            Cell(short(row.name)),
            Cell(ratio_figure(row.study), exact=exact(row.study)[:1]),
            _ratio(row.ours),
            _ratio(row.ours_both),
            Cell(short(row.setting)),
        )
        for row in rows
    )
    title = "Published figures"
    table = Table("published-ratios", title, columns, tuple(map(Row, cells)), caption)
    line = f"ratios to {baseline}: {study.source}"
    return Part("table", PUBLISHED, title, cut(line), table=table.fitted)


def _ratio(comparison: Comparison | None) -> Cell:
    if comparison is None:
        return Cell()
    value = view.ratio_value(comparison)
    numbers = exact(comparison.ratio, comparison.low, comparison.high, comparison.n)
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
