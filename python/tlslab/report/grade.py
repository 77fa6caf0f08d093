"""A grading as a document: the answer, then its grounds."""

from collections.abc import Iterable, Iterator

from rich.console import RenderableType

from tlslab.domain.grading import GRADING, Grade, Grading, successor_words
from tlslab.report.csv import Value, csv_text
from tlslab.report.document import Block, Line, Listing, Table, as_markdown, for_terminal
from tlslab.report.numbers import Grid, Place, word
from tlslab.words import grade as words
from tlslab.words.grade import LEGEND, MARKS, TITLES

_STYLES: dict[Grade, str] = {
    "recommended": "green",
    "acceptable": "",
    "discouraged": "yellow",
    "forbidden": "bold red",
}


def render_grading(grading: Grading) -> RenderableType:
    """The grading for a terminal of 80 columns and more."""
    return for_terminal([Line(words.headline(grading), "bold"), *_document(grading)])


def grading_markdown(grading: Grading) -> str:
    """The grading for issues and pull requests."""
    return as_markdown(words.headline(grading), _document(grading))


def grading_csv(graded: Iterable[tuple[str, Grading | str]]) -> str:
    """A line for each graded item of each host, with the grades of all policies.

    In place of a grading: why the host could not be graded.
    """
    return csv_text(_csv_lines(graded))


def _csv_lines(graded: Iterable[tuple[str, Grading | str]]) -> Iterator[tuple[Value, ...]]:
    yield ("host", "topic", "name", *GRADING)
    for host, grading in graded:
        if isinstance(grading, str):
            yield (host, "error", grading, *[None] * len(GRADING))
            continue
        if grading.trust is not None:
            yield (host, "trust", words.trust_line(grading), *[None] * len(GRADING))
        for item in grading.found:
            grades = {judgement.policy: judgement.grade for judgement in item.judgements}
            yield (host, item.topic, item.name, *map(grades.get, GRADING))


def _document(grading: Grading) -> Iterator[Block]:
    yield Line(words.summary_line(grading), "dim")
    if grading.trust is not None:
        yield Line(words.trust_line(grading), "" if grading.trust.is_trusted else "yellow")
    yield from (Line(f"note: {note}", "yellow") for note in words.notes(grading))
    yield _policies(grading)
    yield _matrix(grading)
    for title, lines in (
        ("Objections", _objections(grading)),
        ("Disagreements", _disputes(grading)),
        ("What will change", _changes(grading)),
    ):
        if listed := tuple(lines):
            yield Listing(title, listed)
    yield Line(words.NO_CLIENTS) if grading.doubt is not None else _clients(grading)


def _policies(grading: Grading) -> Table:
    rows = []
    for source in grading.policies:
        verdict = grading.verdict(source.name)
        style = "green" if verdict.passes else "bold red" if verdict.forbidden else "yellow"
        known = map(word, (source.short, source.title, source.date, source.whom))
        rows.append((*known, word(words.verdict_words(grading, source.name), style)))
    heads = ("", "policy", "date", "for", "verdict")
    notes = (words.basis_line(grading), *successor_words(grading.policies))
    return Table("Policies", Grid(heads, tuple(rows)), notes)


def _matrix(grading: Grading) -> Table:
    """A row for each graded item, a column for each policy."""
    rows: list[tuple[Place, ...]] = []
    names = [source.name for source in grading.policies]
    topic = None
    for item in grading.found:
        if item.topic != topic:
            topic = item.topic
            rows.append((word(TITLES[topic], "bold"), *[word("")] * len(names)))
        said = {judgement.policy: judgement.grade for judgement in item.judgements}
        grades = [said.get(name) for name in names]
        marks = (word(MARKS[grade], _STYLES[grade]) if grade else word("") for grade in grades)
        rows.append((word(words.thing_name(item)), *marks))
    heads = ("", *(source.short for source in grading.policies))
    return Table("What is offered", Grid(heads, tuple(rows)), (LEGEND,), marks=True)


def _objections(grading: Grading) -> Iterator[Line]:
    policy = None
    for objection in words.objections(grading):
        if objection.policy != policy:
            policy = objection.policy
            source = grading.source(policy)
            yield Line(f"{source.title} ({source.date}), {source.source}", "bold")
        head = f"{MARKS[objection.grade]} {objection.section}: {objection.reason}"
        yield Line(f"{head}: {', '.join(objection.names)}", level=1)


def _disputes(grading: Grading) -> Iterator[Line]:
    for dispute in words.disputes(grading):
        sides = f"for: {', '.join(dispute.for_)}; against: {', '.join(dispute.against)}"
        yield Line(f"{', '.join(dispute.names)}: {sides}")


def _changes(grading: Grading) -> Iterator[Line]:
    for change in words.changes(grading):
        names = ", ".join(change.names)
        yield Line(f"from {change.day}, {change.policy}: {change.grade}: {names}")


def _clients(grading: Grading) -> Table:
    rows = tuple(
        (
            word(outcome.client),
            word(str(outcome.released)),
            word(words.outcome_words(outcome), "" if outcome.connects else "yellow"),
        )
        for outcome in grading.clients
    )
    grid = Grid(("client", "year", "connects with"), rows)
    return Table("Known clients (simulated)", grid, grading.limits)
