"""The summary as Markdown, for pull requests: question, answer, ranking, tables, details.

GitHub's dialect: tables, `<details>`, and no more than fits into a comment; parts without room are
named. Text from a server cannot create markup, links or mentions.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from tlslab.domain.estimates import (
    CLIENT_COST,
    CONNECTIONS,
    HANDSHAKE,
    MICRO,
    SERVER_COST,
    quantile,
)
from tlslab.domain.finding import Summary
from tlslab.domain.plain import plain
from tlslab.domain.wording import counted
from tlslab.report import view
from tlslab.report.dots import axis_line, dot_lines, has_dots, marks_words
from tlslab.report.facts import facts, redo_command
from tlslab.report.few_trials import shown
from tlslab.report.numbers import Grid, Place, figure_grid, table_grid, word
from tlslab.words import cautions
from tlslab.words.answer import (
    answer_lines,
    enough_command,
    enough_words,
    question,
    tile_words,
)
from tlslab.words.load import load_words

_LIMIT = 2000

# The width of GitHub's code blocks in columns.
_WIDTH = 96

# A figure with more rows or columns is left to the page.
_ROWS = 40
_COLUMNS = 10

# GitHub refuses a comment of more than 65,536 characters. The rest is for words around a report.
MOST = 60_000

# The part of these characters for the names of parts without room, and for what follows them.
_LAST = 4_000

# The largest number of parts without room that are named.
_NAMED = 24

# The columns of a setting's table.
_HEADS = (
    "#", "", "connections/s", "ratio", f"server {MICRO}", f"client {MICRO}",
    "handshake p50 ms", "verdict",
)  # fmt: skip

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$])")


def render_markdown(summary: Summary) -> str:
    """The whole document."""
    return "\n".join(_document(shown(summary))).rstrip() + "\n"


class _Room:
    """The remaining characters, and the titles of the parts without room."""

    def __init__(self) -> None:
        self._left = MOST - _LAST
        self._without: list[str] = []

    def take(self, title: str, lines: Iterable[str]) -> list[str]:
        """The lines of a part, if they fit."""
        taken = list(lines)
        size = sum(len(line) + 1 for line in taken)
        if size > self._left:
            self._without.append(title)
            return []
        self._left -= size
        return taken

    def without(self) -> list[str]:
        """The parts without room; of many, the first ones and the number of the others."""
        named, others = self._without[:_NAMED], len(self._without) - _NAMED
        return [*named, *([f"{counted(others, 'other part')}"] if others > 0 else [])]


def _document(summary: Summary) -> Iterator[str]:
    sections = view.sections(summary)
    room = _Room()
    yield from room.take("Answer", _answered(summary, sections))
    for section in sections:
        yield from room.take(section.label, table_lines(section.label, _section_grid(section)))
    for table in summary.tables:
        lines = table_lines(table.title, table_grid(table), table.caption)
        yield from room.take(table.title, lines)
    yield from ("<details>", "<summary>Details</summary>", "")
    for title, listed in _listings(summary, sections):
        yield from room.take(title, listing_lines(title, listed))
    for title, lines in _figures(summary):
        yield from room.take(title, lines)
    for text in summary.texts:
        block = (f"#### {escaped(text.title)}", "", *_code(text.text.split("\n")), "")
        yield from room.take(text.title, block)
    known = [f"{name}: {value}" for name, value in facts(summary)]
    for title, listed in (("Method", list(summary.method)), ("How it was measured", known)):
        yield from room.take(title, listing_lines(title, listed))
    yield from listing_lines("No room here; the page and --format json have it", room.without())
    yield from ("Again:", "", *_code([redo_command(summary)]), "", "</details>")


def _section_grid(section: view.Section) -> Grid:
    """A setting's cells, the best first."""
    return Grid(_HEADS, tuple(_row(row) for row in section.rows))


def _row(row: view.Row) -> tuple[Place, ...]:
    ratio = view.Value("baseline") if row.is_baseline else row.ratio or view.Value("")
    if row.undecided:
        ratio = view.Value(ratio.text, f"{ratio.interval}; {row.undecided}", ratio.method)
    shown = (row.value(name) for name in (SERVER_COST, CLIENT_COST, quantile(HANDSHAKE, 50)))
    figures = (row.value(CONNECTIONS), ratio, *shown)
    return (
        word(row.rank),
        word(row.name),
        *(Place(figure or view.Value(""), True) for figure in figures),
        word(row.verdict),
    )


def _listings(
    summary: Summary, sections: tuple[view.Section, ...]
) -> Iterator[tuple[str, list[str]]]:
    """Titles and sentences of the lists."""
    yield "Warnings", [_warning(caution) for caution in cautions.warnings(summary)]
    for section in sections:
        yield section.label, [section.reported(finding) for finding in section.findings]
    large = view.general_findings(summary, sections)
    yield "What the numbers say", [finding.text for finding in large]
    without = cautions.without_result(summary)
    failed = [f"{name} ({verdict}): {why}" for name, verdict, why in without]
    yield "Cells without a valid result", failed
    out = [f"{name}: {reason}" for name, reason in cautions.left_out(summary)]
    yield "Not tried or not supported", out


def _answered(summary: Summary, sections: tuple[view.Section, ...]) -> Iterator[str]:
    yield from (f"## {escaped(question(summary))}", "")
    answer = summary.answer
    if answer is None:
        yield from (f"**{escaped(view.headline(summary, sections))}**", "")
        return
    yield from (f"**{escaped(line)}**" for line in answer_lines(answer))
    yield ""
    if answer.lacking is not None and answer.lacking.command:
        words = enough_words(answer.lacking).rstrip()
        yield from (f"{words[:1].upper()}{words[1:]}", "", *_code([enough_command(answer.lacking)]))
        yield ""
    if answer.tiles:
        yield from (*(f"- {escaped(tile_words(tile))}" for tile in answer.tiles), "")
    if answer.confidence:
        yield from (escaped(answer.confidence), "")
    if load := load_words(summary):
        yield from (escaped(load), "")
    if count := len(cautions.warnings(summary)):
        yield from (f"{count} warning{'' if count == 1 else 's'}: see Details.", "")
    drawn = view.answering_figure(summary)
    if drawn is not None and has_dots(drawn):
        lines = [part for row in dot_lines(drawn, _WIDTH) for part in row.text.split("\n")]
        yield from (*_code([*lines, axis_line(drawn, _WIDTH)]), "", escaped(marks_words(drawn)))
        yield ""


def _figures(summary: Summary) -> Iterator[tuple[str, Iterator[str]]]:
    """Titles and numbers of the figures that are small enough to be read."""
    for figure in summary.figures:
        if figure.of_setting:
            continue
        grid = figure_grid(figure)
        if len(grid.rows) <= _ROWS and len(grid.columns) <= _COLUMNS:
            unit = f"{figure.y_title}. " if figure.y_title else ""
            yield figure.title, table_lines(figure.title, grid, f"{unit}{figure.caption}")


def table_lines(title: str, grid: Grid, caption: str = "", missing: str = "-") -> Iterator[str]:
    """A grid below its title; intervals stand in brackets after their values."""
    yield from (f"### {escaped(title)}", "")
    yield _line([escaped(head) for head in grid.columns])
    yield _line(["--:" if number else "---" for number in grid.numbers])
    for row in grid.rows:
        yield _line([_cell(place) or missing for place in row])
    yield ""
    if caption:
        yield from (escaped(caption), "")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(place: Place) -> str:
    value = place.value
    interval = f" ({value.interval})" if value.text and value.interval else ""
    return escaped(f"{value.text}{interval}")


def listing_lines(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Sentences below their title; empty for none."""
    if lines:
        yield from (f"#### {escaped(title)}", "", *(f"- {escaped(line)}" for line in lines), "")


def _warning(warning: cautions.Caution) -> str:
    return warning.message + (f" ({warning.about})" if warning.cells else "")


def _code(lines: Sequence[str]) -> list[str]:
    """A block without markup; its fence is longer than any in the text."""
    cleaned = [plain(line, _LIMIT) for line in lines]
    longest = max((len(run) for line in cleaned for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *cleaned, fence]


def escaped(text: str) -> str:
    """Text without markup, links or mentions."""
    marked = _MARKUP.sub(r"\\\1", plain(text, _LIMIT).replace("&", "&amp;"))
    return marked.replace("@", "&#64;").replace("://", "&#58;//").replace("www.", "www&#46;")
