"""A grading as Markdown, for issues and pull requests."""

from collections.abc import Iterable, Iterator, Sequence

from tlslab.domain.grading import Grading, successor_words
from tlslab.domain.plain import plain
from tlslab.report import grade_words as words
from tlslab.report.grade_words import LEGEND, MARKS, TITLES

_LIMIT = 2000

# Characters that Markdown or HTML would interpret.
_SPECIAL = r"\`*_{}[]<>#|~&!"


def grading_markdown(grading: Grading) -> str:
    """The whole grading, in the same order as on the terminal."""
    return "\n".join(_lines(grading)) + "\n"


def _lines(grading: Grading) -> Iterator[str]:
    yield f"# {_text(words.headline(grading))}"
    yield ""
    yield _text(words.summary_line(grading))
    for note in words.notes(grading):
        yield f"\n**Note:** {_text(note)}"
    yield "\n## Policies\n"
    yield from _table(("policy", "date", "for", "verdict"), _policies(grading))
    for line in (words.basis_line(grading), *successor_words(grading.policies)):
        yield f"\n{_text(line)}"
    yield "\n## What is offered\n"
    yield from _table(("", *(source.short for source in grading.policies)), _matrix(grading))
    yield f"\n{_text(LEGEND)}"
    yield from _objections(grading)
    yield from _disputes(grading)
    yield from _changes(grading)
    if grading.doubt is not None:
        yield f"\n{_text(words.NO_CLIENTS)}"
        return
    yield "\n## Known clients (simulated)\n"
    rows = [
        (outcome.client, str(outcome.released), words.outcome_words(outcome))
        for outcome in grading.clients
    ]
    yield from _table(("client", "year", "connects with"), rows)
    for limit in grading.limits:
        yield f"\n{_text(limit)}"


def _policies(grading: Grading) -> Iterator[Sequence[str]]:
    for source in grading.policies:
        said = words.verdict_words(grading, source.name)
        yield f"{source.title} ({source.short})", source.date, source.whom, said


def _matrix(grading: Grading) -> Iterator[Sequence[str]]:
    topic = None
    for found in grading.found:
        if found.topic != topic:
            topic = found.topic
            yield TITLES[topic], *("" for _ in grading.policies)
        said = {judgement.policy: MARKS[judgement.grade] for judgement in found.judgements}
        yield words.thing_name(found), *(said.get(source.name, "") for source in grading.policies)


def _objections(grading: Grading) -> Iterator[str]:
    found = words.objections(grading)
    if found:
        yield "\n## Objections\n"
        rows = [
            (grading.source(each.policy).title, each.grade, each.section, each.reason,
             ", ".join(each.names))
            for each in found
        ]  # fmt: skip
        yield from _table(("policy", "grade", "where", "reason", "what"), rows)


def _disputes(grading: Grading) -> Iterator[str]:
    found = words.disputes(grading)
    if found:
        yield "\n## Disagreements\n"
        rows = [(", ".join(d.names), ", ".join(d.for_), ", ".join(d.against)) for d in found]
        yield from _table(("what", "for", "against"), rows)


def _changes(grading: Grading) -> Iterator[str]:
    found = words.changes(grading)
    if found:
        yield "\n## What will change\n"
        rows = [(each.day, each.policy, each.grade, ", ".join(each.names)) for each in found]
        yield from _table(("from", "policy", "grade", "what"), rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(heads)
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield _row(row)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_text(cell) for cell in cells) + " |"


def _text(text: str) -> str:
    """Literal text: sanitised, with everything escaped that Markdown would interpret."""
    return "".join(f"\\{c}" if c in _SPECIAL else c for c in plain(text, _LIMIT))
