"""A history as Markdown, for issues and pull requests: the answer, each change, the runs."""

from collections.abc import Iterator, Sequence

from tlslab.domain.estimates import estimate_name
from tlslab.domain.history import History
from tlslab.domain.wording import counted
from tlslab.report import history_words as words
from tlslab.report.markdown import escaped, listing_lines, table_lines
from tlslab.report.numbers import Grid, Place
from tlslab.report.view import Value


def render_history_markdown(found: History) -> str:
    """The whole document."""
    return "\n".join(_document(found)).rstrip() + "\n"


def _document(found: History) -> Iterator[str]:
    yield from (f"## History of {counted(len(found.runs), 'run')}", "")
    yield from (f"**{escaped(words.headline(found))}**", "")
    if changed := words.changed_cells(found):
        yield from table_lines("Changes", _changes(found, changed))
        yield from (escaped(words.could_have_found(found)), "", escaped(words.NOISE), "")
    yield from listing_lines("Warnings", found.warnings)
    yield from ("<details>", "<summary>Details</summary>", "")
    yield from listing_lines("Without a change", [*_unchanged(found)])
    yield from table_lines("Runs, oldest first", _runs(found))
    yield "</details>"


def _changes(found: History, changed: tuple[words.CellChanges, ...]) -> Grid:
    heads = ("cell", "what", "change", "verdict", "between", "facts that differ")
    rows = [
        (
            _named(found, cell.history, cell.label),
            estimate_name(series.estimate),
            words.size(change),
            words.verdict_words(change),
            words.between(found, change),
            "; ".join(f"{each.fact}: {each.before} to {each.after}" for each in change.facts),
        )
        for cell in changed
        for series in cell.series
        for change in series.changes
    ]
    return _grid(heads, rows)


def _named(found: History, history: str, label: str) -> str:
    """A cell's label, with its history if there are several: those of unlike machines."""
    return label if len({each.history for each in found.cells}) == 1 else f"{label} ({history})"


def _unchanged(found: History) -> Iterator[str]:
    for series in words.unchanged(found):
        label = _named(found, series.history, series.label)
        yield f"{label}, {estimate_name(series.estimate)}: {words.quiet(found, series)}"


def _runs(found: History) -> Grid:
    rows = [
        (each.name, words.moment(each.began), each.target, each.machine, each.tlslab)
        for each in found.runs
    ]
    return _grid(("run", "began (UTC)", "target", "machine", "tlslab"), rows)


def _grid(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Grid:
    return Grid(heads, tuple(tuple(Place(Value(text), False) for text in row) for row in rows))
