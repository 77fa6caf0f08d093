"""The order of a page: the answer, the parts that fit before Details, Details."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tlslab.domain.figure import Figure
from tlslab.domain.finding import Answer, Finding, Summary
from tlslab.domain.setting import LEADING
from tlslab.domain.wording import counted
from tlslab.report import view
from tlslab.report.facts import redo_command
from tlslab.report.page import page_parts, results
from tlslab.report.page.drawn import Drawn, drawn_flames
from tlslab.report.page.page_parts import Part
from tlslab.report.page.weight import LEVELS, USES, Thrift, lighter_details, lighter_main
from tlslab.report.table import data_table
from tlslab.words.load import load_words

# Details begin within four screens of 800 pixels. Heights before them, in pixels: the head with the
# answer, a table's frame and row, a figure's frame.
_SCREENS = 4 * 800
_HEAD = 800
_TABLE = 150
_ROW = 48
_FIGURE = 90

# The number of rows that a long table shows at first.
ROWS = 10

# How many figures stand before Details where no setting has a ranking, and how the ids of those
# begin that open a page: loads beside what was completed of them, and beside response times.
_FIRST = 2
_OPENING = ("achieved", "response")

# The title of those, and how many there are at most: two of each cell.
_OPENS = "What was carried, and how fast"
_MOST_OPENING = 4

# The title of those that stand before the tables.
_LEADS = "Server and client over time"

# The figure of the parts of costs by samples, which has a place of its own.
_WHY = "why"


@dataclass(frozen=True)
class Layout:
    """A page from top to bottom; `answer` may be made from the first finding of an old run.

    `left_out` lists the contents that no part of the page has; `load` is what every connection
    carried, in words.
    """

    question: str
    answer: Answer
    picture: Drawn | None
    main: tuple[Part, ...]
    details: tuple[Part, ...]
    left_out: str = ""
    load: str = ""

    @property
    def warnings(self) -> int:
        """The number of warnings."""
        return next((part.count for part in self.details if part.kind == "warnings"), 0)

    @property
    def objections(self) -> bool:
        """Whether there is anything to which policies object."""
        shown = [part.table for part in self.main if part.table]
        return any(row.objection for table in shown for row in table.rows) or (
            self.picture is not None and self.picture.objections
        )


def layout(summary: Summary, thrift: int = 0) -> Layout:
    """All parts of the page in their order; `thrift`: which of `weight.LEVELS`."""
    level = LEVELS[thrift]
    sections = view.sections(summary)
    answer = summary.answer or _old_answer(summary, sections)
    drawn = (Drawn(f, "picture") for f in summary.figures if f.id == answer.drawn)
    picture = None if _opening(summary) else next(drawn, None)
    used = _HEAD + (_height(picture) if picture else 0)
    wanted = list(_candidates(summary, sections, picture.figure.id if picture else ""))
    main: list[Part] = []
    for part in wanted:
        height = _part_height(part)
        if used + height > _SCREENS:
            break
        used += height
        main.append(part)
    folded = [*wanted[len(main) :], *_rest(summary, sections, level)]
    published = page_parts.published_part(summary)
    details = [
        page_parts.warnings_part(summary),
        page_parts.cells_part(summary),
        page_parts.findings_part(_others(summary, answer)),
        *lighter_details(folded, level),
        page_parts.excluded_part(summary),
        *lighter_details(filter(None, [published]), level),
        page_parts.method_part(summary, redo_command(summary)),
        page_parts.environment_part(summary),
    ]
    question = answer.question or summary.experiment.title
    return Layout(
        question,
        answer,
        picture.lighter(level.picture) if picture else None,
        lighter_main(main, level),
        tuple(filter(None, details)),
        level.words,
        load_words(summary),
    )


def _candidates(summary: Summary, sections: Sequence[view.Section], drawn: str) -> Iterator[Part]:
    """Candidates for a place before Details, by importance."""
    if opening := _opening(summary):
        yield page_parts.figures_part("opening", _OPENS, "", _halves(opening[:_MOST_OPENING]))
        yield from (page_parts.table_part(data_table(data)) for data in summary.tables[:1])
        answering = summary.answer.figure if summary.answer else ""
        yield from (_figure_part(f) for f in _own(summary, "") if f.id == answering)
    if leading := _leading(summary):
        yield page_parts.figures_part(LEADING, _LEADS, "", _halves(leading[:_FIRST]))
    for table in (results.results(summary, sections), results.kept_open(summary, sections)):
        if table is not None:
            yield page_parts.table_part(table)
    rankings = [f for f in _rankings(summary) if f.id != drawn and not (opening and _is_bare(f))]
    if len(rankings) == 1:
        yield _figure_part(rankings[0])
    elif rankings:
        line = f"{len(rankings)} rankings: {', '.join(f.title for f in rankings[:3])}"
        yield page_parts.figures_part("rankings", "Other rankings", line, _halves(rankings))
    if not sections and not opening:
        yield from (page_parts.table_part(data_table(data)) for data in summary.tables[:1])
        yield from map(_figure_part, _own(summary, drawn)[:_FIRST])


def _rest(summary: Summary, sections: Sequence[view.Section], thrift: Thrift) -> Iterator[Part]:
    """The contents of Details beside warnings, method and the like."""
    times = results.times(summary, sections)
    yield from _why(summary, thrift.flames)
    costs = [f for f in summary.figures if f.of_setting and f.kind == "stacked_bars"]
    uses = [f for f in summary.figures if f.of_setting and f.kind == "areas" and _has_area(f)]
    if costs:
        yield page_parts.figures_part(
            "costs",
            "Processor time per connection",
            "server and client, in the program (user) and in the kernel (system)",
            _halves(costs),
        )
    if times is not None:
        yield page_parts.table_part(times)
    if uses:
        most = thrift.uses
        few = f"The first {most} of {len(uses)}" if most else f"None of {len(uses)} is drawn"
        more = f"{few}; all are in summary.json." * (len(uses) > most)
        yield page_parts.figures_part(
            USES,
            "Processor use over time",
            "share of one processor while the lean client loads the server as far as it goes",
            [Drawn(figure, "small") for figure in uses[:most]],
            more,
        )
    drawn = summary.answer.drawn if summary.answer else ""
    opening = _opening(summary)
    if opening:
        yield from (_figure_part(figure) for figure in _rankings(summary) if _is_bare(figure))
    if others := opening[_MOST_OPENING:]:
        line = "completed connections and response times against the offered load"
        yield page_parts.figures_part("other-loads", f"{_OPENS}: others", line, _halves(others))
    first = 0 if sections or opening else _FIRST
    yield from map(_figure_part, _own(summary, drawn)[first:])
    yield from (page_parts.table_part(data_table(data)) for data in summary.tables[not sections :])
    yield from (page_parts.text_part(text) for text in summary.texts)


def _why(summary: Summary, flames: int) -> Iterator[Part]:
    """The parts of costs by samples, with their flame graphs."""
    figures = [Drawn(figure) for figure in summary.figures if figure.id == _WHY]
    if figures:
        drawn = drawn_flames(summary, flames)
        cells = len(summary.why.cells) if summary.why else 0
        note = (
            f"Flame graphs of {len(drawn)} of {counted(cells, 'cell')}; tlslab report DIR "
            "--format folded prints the stacks of all." * (len(drawn) < cells)
        )
        line = "what a connection's cost to the server is made of, by samples of its call stacks"
        part = page_parts.figures_part("why", "Why", line, figures, note)
        yield replace(part, flames=drawn)


def _opening(summary: Summary) -> list[Figure]:
    """The figures that open the page, those of the answer's cell first; none of most kinds."""
    found = [figure for figure in summary.figures if figure.id.startswith(_OPENING)]
    answer = summary.answer.figure.partition("-")[2] if summary.answer else ""
    names = list(dict.fromkeys(figure.id.partition("-")[2] for figure in found))

    def place(figure: Figure) -> tuple[bool, int, bool]:
        kind, _, name = figure.id.partition("-")
        return name != answer, names.index(name), kind != _OPENING[0]

    return sorted(found, key=place)


def _leading(summary: Summary) -> list[Figure]:
    """The figures that stand before the tables; none of most runs."""
    return [figure for figure in summary.figures if figure.id.startswith(LEADING)]


def _rankings(summary: Summary) -> list[Figure]:
    return [figure for figure in summary.figures if figure.kind == "ranking"]


def _is_bare(figure: Figure) -> bool:
    """Whether a ranking has one row, which a table beside it says as well."""
    return sum(len(series.x) for series in figure.series) < 2


def _own(summary: Summary, drawn: str) -> list[Figure]:
    """The figures that belong to no section's ranking and do not open the page."""
    before = (*_opening(summary), *_leading(summary)[:_FIRST])
    elsewhere = {drawn, _WHY, *(figure.id for figure in before)}
    return [
        figure
        for figure in summary.figures
        if figure.id not in elsewhere and figure.kind != "ranking" and not figure.of_setting
    ]


def _has_area(figure: Figure) -> bool:
    """Whether there are two places between which to draw an area: short runs have one slice."""
    return any(len(series.x) > 1 for series in figure.series)


def _figure_part(figure: Figure) -> Part:
    drawn = Drawn(figure)
    return page_parts.figures_part(f"part-{figure.id}", figure.title, drawn.line, [drawn])


def _halves(figures: Sequence[Figure]) -> list[Drawn]:
    return [Drawn(figure, "half") for figure in figures]


def _old_answer(summary: Summary, sections: tuple[view.Section, ...]) -> Answer:
    """An answer for a summary without one: its first finding."""
    return Answer(summary.experiment.title, (view.headline(summary, sections),), "")


def _others(summary: Summary, answer: Answer) -> list[Finding]:
    """The findings that are neither in the answer nor in the warnings."""
    ranked = bool(view.sections(summary))
    return [
        finding
        for finding in summary.findings
        if finding.text not in answer.sentences and (finding.cells or not ranked)
    ]


def _part_height(part: Part) -> float:
    """The height of a part on a desktop, in pixels."""
    if part.table is not None:
        # What policies object to stands below a row's name.
        return _TABLE + sum(_ROW * (1 + bool(row.objection)) for row in part.table.rows[:ROWS])
    heights = [_height(figure) for figure in part.figures]
    if len(heights) < 2:
        return sum(heights)
    return sum(max(heights[index : index + 2]) for index in range(0, len(heights), 2))


def _height(drawn: Drawn) -> float:
    """The height of a figure on a desktop, in pixels."""
    return _FIGURE + drawn.height
