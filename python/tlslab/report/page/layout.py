"""The order of a page: the answer, what fits before Details, Details."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tlslab.model.answer import Answer
from tlslab.model.figure import Figure
from tlslab.model.finding import Finding, Summary
from tlslab.model.wording import counted
from tlslab.report import view
from tlslab.report.facts import redo_command
from tlslab.report.page import parts, results
from tlslab.report.page.drawn import Drawn
from tlslab.report.page.flames import drawn_flames
from tlslab.report.page.parts import Part
from tlslab.report.page.table import data_table

# Details begin within four screens of 800 pixels. What stands before them is counted in pixels:
# the head with the answer, a table's frame and row, a figure's frame.
_SCREENS = 4 * 800
_HEAD = 620
_TABLE = 150
_ROW = 48
_FIGURE = 90

# A long table shows this number of rows at first.
ROWS = 10

# From this thrift on, figures before Details have one kind of axis.
_ONE_AXIS = 3
THRIFTIEST = 5

# Drawings of processor use beyond this number would make the page too heavy; the numbers are in
# `summary.json`.
_USES = 24
_FEW_USES = 12

# The number of flame graphs by thrift: the heaviest drawings go first.
_FLAMES = (6, 3, 2, 1, 1, 0)

# The figure of the parts of costs by samples, which has a place of its own.
_WHY = "why"


@dataclass(frozen=True)
class Layout:
    """A page from top to bottom; `answer` may be that of an old run, made of its first finding."""

    question: str
    answer: Answer
    picture: Drawn | None
    main: tuple[Part, ...]
    details: tuple[Part, ...]

    @property
    def warnings(self) -> int:
        """How many warnings there are."""
        return next((part.count for part in self.details if part.kind == "warnings"), 0)

    @property
    def objections(self) -> bool:
        """Whether there is anything that policies object to."""
        shown = [part.table for part in self.main if part.table]
        return any(row.objection for table in shown for row in table.rows) or (
            self.picture is not None and self.picture.objections
        )


def layout(summary: Summary, thrift: int = 0) -> Layout:
    """All parts of the page in their order; `thrift` makes it lighter, up to THRIFTIEST.

    From 1 on, figures in Details have one kind of axis; from 2 on, one drawing for all widths;
    from 3 on, those before Details have one kind of axis, too; from 4 on, long figures in Details
    have no table of their numbers, and processor use has fewer drawings; 5 is as lean before
    Details, where the picture has one kind of axis, and other marks show nothing on hover.
    """
    sections = view.sections(summary)
    answer = summary.answer or _old_answer(summary, sections)
    drawn = (Drawn(f, "picture") for f in summary.figures if f.id == answer.figure)
    picture = next(drawn, None)
    if picture is not None and thrift == THRIFTIEST:
        picture = replace(picture, both_axes=False)
    used = _HEAD + (_height(picture) if picture else 0)
    wanted = list(_candidates(summary, sections, answer.figure))
    main: list[Part] = []
    for part in wanted:
        height = _part_height(part)
        if used + height > _SCREENS:
            break
        used += height
        main.append(part)
    if thrift >= _ONE_AXIS:
        main = [_lighter(part, thrift if thrift == THRIFTIEST else 1) for part in main]
    uses = _USES if thrift < 4 else _FEW_USES
    folded = [*wanted[len(main) :], *_rest(summary, sections, uses, _FLAMES[thrift])]
    details = [
        parts.warnings_part(summary),
        parts.findings_part(_others(summary, answer)),
        *(_lighter(part, thrift) for part in folded),
        parts.cells_part(summary),
        parts.excluded_part(summary),
        parts.published_part(summary),
        parts.method_part(summary, redo_command(summary)),
        parts.environment_part(summary),
    ]
    question = answer.question or summary.experiment.title
    return Layout(question, answer, picture, tuple(main), tuple(filter(None, details)))


def _lighter(part: Part, thrift: int) -> Part:
    """A part of figures with fewer drawings."""
    if not part.figures or not thrift:
        return part
    return replace(part, figures=tuple(each.lighter(thrift) for each in part.figures))


def _candidates(summary: Summary, sections: Sequence[view.Section], drawn: str) -> Iterator[Part]:
    """What may stand before Details, by importance."""
    for table in (results.results(summary, sections), results.kept_open(summary, sections)):
        if table is not None:
            yield parts.table_part(table)
    rankings = [f for f in summary.figures if f.kind == "ranking" and f.id != drawn]
    if len(rankings) == 1:
        yield _figure_part(rankings[0])
    elif rankings:
        line = f"{len(rankings)} rankings: {', '.join(f.title for f in rankings[:3])}"
        yield parts.figures_part("rankings", "Other rankings", line, _halves(rankings))
    if not sections:
        for each in summary.tables[:1]:
            yield parts.table_part(data_table(each))
        for figure in _own(summary, drawn)[:2]:
            yield _figure_part(figure)


def _rest(
    summary: Summary, sections: Sequence[view.Section], most: int, flames: int
) -> Iterator[Part]:
    """What Details have beside warnings, method and the like."""
    found = results.times(summary, sections)
    yield from _why(summary, flames)
    costs = [f for f in summary.figures if _of_section(f) and f.kind == "stacked_bars"]
    uses = [f for f in summary.figures if _of_section(f) and f.kind == "areas" and _has_area(f)]
    if costs:
        yield parts.figures_part(
            "costs",
            "Processor time per connection",
            "server and client, in the program (user) and in the kernel (system)",
            _halves(costs),
        )
    if found is not None:
        yield parts.table_part(found)
    if uses:
        more = f"The first {most} of {len(uses)}; all are in summary.json." * (len(uses) > most)
        yield parts.figures_part(
            "use",
            "Processor use over time",
            "share of one processor while the lean client loads the server as far as it goes",
            [Drawn(figure, "small") for figure in uses[:most]],
            more,
        )
    drawn = summary.answer.figure if summary.answer else ""
    yield from (_figure_part(each) for each in _own(summary, drawn)[0 if sections else 2 :])
    yield from (parts.table_part(data_table(each)) for each in summary.tables[not sections :])
    yield from (parts.text_part(each) for each in summary.texts)


def _why(summary: Summary, flames: int) -> Iterator[Part]:
    """The parts of costs by samples, with their flame graphs."""
    figures = [Drawn(each) for each in summary.figures if each.id == _WHY]
    if figures:
        drawn = drawn_flames(summary, flames)
        cells = len(summary.why.cells) if summary.why else 0
        note = (
            f"Flame graphs of {len(drawn)} of {counted(cells, 'cell')}; tlslab report DIR "
            "--format folded prints the stacks of all." * (len(drawn) < cells)
        )
        line = "what a connection's cost to the server is made of, by samples of its call stacks"
        part = parts.figures_part("why", "Why", line, figures, note)
        yield replace(part, flames=drawn)


def _own(summary: Summary, drawn: str) -> list[Figure]:
    """The figures that belong to no section's ranking."""
    return [
        figure
        for figure in summary.figures
        if figure.id not in (drawn, _WHY) and figure.kind != "ranking" and not _of_section(figure)
    ]


def _of_section(figure: Figure) -> bool:
    return figure.id.startswith("setting-")


def _has_area(figure: Figure) -> bool:
    """Whether there are two places to draw an area between: short runs have one slice."""
    return any(len(series.x) > 1 for series in figure.series)


def _figure_part(figure: Figure) -> Part:
    drawn = Drawn(figure)
    return parts.figures_part(f"part-{figure.id}", figure.title, drawn.line, [drawn])


def _halves(figures: Sequence[Figure]) -> list[Drawn]:
    return [Drawn(figure, "half") for figure in figures]


def _old_answer(summary: Summary, sections: tuple[view.Section, ...]) -> Answer:
    """An answer for a summary without one: its first finding."""
    return Answer(summary.experiment.title, (view.headline(summary, sections),), "")


def _others(summary: Summary, answer: Answer) -> list[Finding]:
    """The findings that neither the answer nor the warnings have said."""
    ranked = bool(view.sections(summary))
    return [
        finding
        for finding in summary.findings
        if finding.text not in answer.sentences and (finding.cells or not ranked)
    ]


def _part_height(part: Part) -> float:
    """How many pixels a part takes on a desktop."""
    if part.table is not None:
        return _TABLE + _ROW * min(len(part.table.rows), ROWS)
    heights = [_height(figure) for figure in part.figures]
    if len(heights) < 2:
        return sum(heights)
    return sum(max(heights[index : index + 2]) for index in range(0, len(heights), 2))


def _height(drawn: Drawn) -> float:
    """How many pixels a figure takes on a desktop."""
    return _FIGURE + drawn.height
