"""A history for a terminal, as Markdown and as CSV: a sentence first, then each change."""

from collections.abc import Iterator

from rich.console import RenderableType

from tlslab.domain.estimates import estimate_name
from tlslab.domain.history import CellHistory, Change, History
from tlslab.domain.wording import counted
from tlslab.report.csv import Value, csv_text
from tlslab.report.document import Block, Line, Listing, Table, as_markdown, for_terminal
from tlslab.report.numbers import Grid, word
from tlslab.words import history as words

_STYLES = {"slower": "red", "faster": "green", "cannot_tell": "yellow"}


def render_history_text(history: History) -> RenderableType:
    """The changes, in lines that fold at any width."""
    return for_terminal(_document(history))


def render_history_markdown(history: History) -> str:
    """The changes; folded, the series without one, and the runs."""
    unchanged = tuple(
        Line(
            f"{_named(history, series.history, series.label)}, {estimate_name(series.estimate)}: "
            f"{words.quiet(history, series)}"
        )
        for series in words.unchanged(history)
    )
    runs = tuple(
        tuple(map(word, (run.name, words.moment(run.began), run.target, run.machine, run.tlslab)))
        for run in history.runs
    )
    heads = ("run", "began (UTC)", "target", "machine", "tlslab")
    details: list[Block] = [Listing("Without a change", unchanged)] if unchanged else []
    details.append(Table("Runs, oldest first", Grid(heads, runs)))
    title = f"History of {counted(len(history.runs), 'run')}"
    return as_markdown(title, _document(history), details)


def _document(history: History) -> Iterator[Block]:
    changed = words.changed_cells(history)
    yield Line(words.headline(history), "bold")
    for cell in changed:
        title = _named(history, cell.history, cell.label)
        yield Listing(title, tuple(_changes(history, cell)))
    if changed:
        quiet = sum(series.judged for series in words.unchanged(history))
        if quiet:
            yield Line(f"No change was found in {quiet} other series.")
        yield Line(words.could_have_found(history))
        yield Line(words.NOISE)
    yield Line("")
    short = sum(not series.judged for series in history.cells)
    if short and words.judged_cells(history):
        yield Line(f"Not judged: {short} series with fewer than {history.least_runs} runs.")
    yield from (Line(f"warning: {warning}", "yellow") for warning in history.warnings)
    yield Line(words.runs_words(history), "dim")


def _named(history: History, name: str, label: str) -> str:
    """A cell's label, with its history if there are several: those of unlike machines."""
    return label if len({cell.history for cell in history.cells}) == 1 else f"{label} ({name})"


def _changes(history: History, cell: words.CellChanges) -> Iterator[Line]:
    """The changes of a cell, grouped by the two runs between which they lie."""
    places: dict[tuple[str, str], list[tuple[CellHistory, Change]]] = {}
    for series in cell.series:
        for change in series.changes:
            places.setdefault((change.before, change.after), []).append((series, change))
    for changes in places.values():
        for series, change in changes:
            text = f"{estimate_name(series.estimate)}: {words.size(change)}"
            style = _STYLES.get(change.verdict, "")
            yield Line(f"{text}: {words.verdict_words(change)}", style)
        yield Line(words.between(history, changes[0][1]), level=1)
        yield Line(words.facts_words(changes[0][1]), level=1)


def render_history_csv(history: History) -> str:
    """The values of all series, oldest first, each with its level."""
    return csv_text(_values(history))


def _values(history: History) -> Iterator[tuple[Value, ...]]:
    yield (
        "history", "cell", "estimate", "words", "unit", "run", "began", "value", "level", "changed",
    )  # fmt: skip
    for series in history.cells:
        changes = {change.index for change in series.changes}
        levels = {
            index: level.value
            for level in series.levels
            for index in range(level.first, level.last + 1)
        }
        for index, (run, value) in enumerate(zip(series.runs, series.values, strict=True)):
            yield (
                series.history, series.label, series.estimate, estimate_name(series.estimate),
                series.unit, run, history.run(run).began, value,
                levels.get(index), index in changes,
            )  # fmt: skip
