"""A grading for a terminal of 80 columns and more."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tlslab.domain.grading import Grading, successor_words
from tlslab.domain.plain import plain
from tlslab.report import grade_words as words
from tlslab.report.grade_words import LEGEND, MARKS, TITLES

_LIMIT = 2000

_STYLES = {"++": "green", "+": "", "-": "yellow", "X": "bold red"}


def render_grading(grading: Grading) -> RenderableType:
    """The answer, then its grounds."""
    return Group(*_parts(grading))


def _parts(grading: Grading) -> Iterator[RenderableType]:
    yield Text(plain(words.headline(grading), _LIMIT), style="bold")
    yield Text(plain(words.summary_line(grading), _LIMIT), style="dim")
    for note in words.notes(grading):
        yield Text(f"note: {plain(note)}", style="yellow")
    yield Text()
    yield _policies(grading)
    for line in (words.basis_line(grading), *successor_words(grading.policies)):
        yield _indented(line, 2, "dim")
    yield Text()
    yield _matrix(grading)
    yield _indented(LEGEND, 2, "dim")
    yield Text()
    yield from _objections(grading)
    yield from _disputes(grading)
    yield from _changes(grading)
    if grading.doubt is not None:
        yield Text(words.NO_CLIENTS)
        return
    yield _clients(grading)
    for limit in grading.limits:
        yield _indented(limit, 2, "dim")


def _table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold cyan",
        box=None,
        header_style="bold",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def _policies(grading: Grading) -> Table:
    table = _table("Policies")
    for column in ("", "policy", "date", "for", "verdict"):
        table.add_column(column, overflow="fold")
    for source in grading.policies:
        verdict = grading.verdict(source.name)
        style = "green" if verdict.passes else "bold red" if verdict.forbidden else "yellow"
        said = Text(words.verdict_words(grading, source.name), style=style)
        table.add_row(source.short, source.title, source.date, source.whom, said)
    return table


def _matrix(grading: Grading) -> Table:
    """A row for each graded item, a column for each policy."""
    table = _table("What is offered")
    table.add_column("", overflow="fold", min_width=20)
    for source in grading.policies:
        table.add_column(source.short, justify="center", no_wrap=True)
    topic = None
    for found in grading.found:
        if found.topic != topic:
            topic = found.topic
            table.add_row(Text(TITLES[topic], style="bold"))
        said = {judgement.policy: MARKS[judgement.grade] for judgement in found.judgements}
        marks = (said.get(source.name, "") for source in grading.policies)
        cells = (Text(mark, style=_STYLES.get(mark, "")) for mark in marks)
        table.add_row(Text(plain(words.thing_name(found))), *cells)
    return table


def _indented(text: str, by: int, style: str = "") -> Padding:
    return Padding(Text(plain(text, _LIMIT), style=style), (0, 0, 0, by))


def _heading(title: str) -> Text:
    return Text(title, style="bold cyan")


def _objections(grading: Grading) -> Iterator[RenderableType]:
    found = words.objections(grading)
    if not found:
        return
    yield _heading("Objections")
    policy = None
    for objection in found:
        if objection.policy != policy:
            policy = objection.policy
            source = grading.source(policy)
            yield _indented(f"{source.title} ({source.date}), {source.source}", 2, "bold")
        head = f"{MARKS[objection.grade]} {objection.section}: {objection.reason}"
        yield _indented(f"{head}: {', '.join(objection.names)}", 4)
    yield Text()


def _disputes(grading: Grading) -> Iterator[RenderableType]:
    found = words.disputes(grading)
    if not found:
        return
    yield _heading("Disagreements")
    for dispute in found:
        sides = f"for: {', '.join(dispute.for_)}; against: {', '.join(dispute.against)}"
        yield _indented(f"{', '.join(dispute.names)}: {sides}", 2)
    yield Text()


def _changes(grading: Grading) -> Iterator[RenderableType]:
    found = words.changes(grading)
    if not found:
        return
    yield _heading("What will change")
    for change in found:
        names = ", ".join(change.names)
        yield _indented(f"from {change.day}, {change.policy}: {change.grade}: {names}", 2)
    yield Text()


def _clients(grading: Grading) -> Table:
    table = _table("Known clients (simulated)")
    for column in ("client", "year", "connects with"):
        table.add_column(column, overflow="fold")
    for outcome in grading.clients:
        said = Text(plain(words.outcome_words(outcome), _LIMIT))
        if not outcome.connects:
            said.stylize("yellow")
        table.add_row(outcome.client, str(outcome.released), said)
    return table
