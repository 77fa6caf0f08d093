"""A history for a terminal, as Markdown and as CSV: a sentence first, then each change."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tlslab.domain.estimates import estimate_name
from tlslab.domain.history import CellHistory, EstimateChange, History
from tlslab.domain.plain import plain
from tlslab.domain.wording import counted
from tlslab.report.brief import Rows, Screen
from tlslab.report.csv import Value, csv_text
from tlslab.report.document import Block, Line, Listing, Table, as_markdown, for_terminal
from tlslab.report.next_steps import NextStep, foot
from tlslab.report.numbers import Grid, word
from tlslab.words import history as words

# More folders than these stand as `DIR...` in the commands of a short report.
_NAMED = 3

_STYLES = {"slower": "red", "faster": "green", "cannot_tell": "yellow"}


def render_history_text(history: History) -> RenderableType:
    """The changes, in lines that fold at any width."""
    return for_terminal(_document(history))


def render_history_short(history: History, folders: Sequence[str]) -> RenderableType:
    """The changes on one screen. `folders`: those of the command."""
    changed = words.changed_cells(history)
    parts = [
        Listing(_named(history, cell.history, cell.label), tuple(lines))
        for cell in changed
        for lines in _places(history, cell)
    ]
    found = [Line(words.could_have_found(history))] if changed else []
    beside = filter(None, (words.runs_words(history), words.loads_words(history)))
    head = [Line(words.headline(history), "bold"), *found, *(Line(each, "dim") for each in beside)]
    warned = [Text(f"! {plain(each, 1000)}", style="yellow") for each in history.warnings]
    command = ("tlslab", "history", *(folders if len(folders) <= _NAMED else ("DIR...",)))
    steps = (
        NextStep((*command, "--details"), "all changes"),
        NextStep((*command, "--out", "history.html"), "the charts"),
    )
    return Screen(
        for_terminal(head),
        None,
        Rows(lambda count: for_terminal(parts[:count]), len(parts), "change") if parts else None,
        Rows(lambda count: Group(*warned[:count]), len(warned), "warning") if warned else None,
        foot(steps),
    )


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
    if load := words.loads_words(history):
        yield Line(load, "dim")
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
    for lines in _places(history, cell):
        yield from lines


def _places(history: History, cell: words.CellChanges) -> Iterator[list[Line]]:
    """The changes of a cell between two runs, for each two runs."""
    places: dict[tuple[str, str], list[tuple[CellHistory, EstimateChange]]] = {}
    for series in cell.series:
        for change in series.changes:
            places.setdefault((change.before, change.after), []).append((series, change))
    for changes in places.values():
        lines = []
        for series, change in changes:
            text = f"{estimate_name(series.estimate)}: {words.size(change)}"
            style = _STYLES.get(change.verdict, "")
            lines.append(Line(f"{text}: {words.verdict_words(change)}", style))
        lines.append(Line(words.between(history, changes[0][1]), level=1))
        lines.append(Line(words.facts_words(changes[0][1]), level=1))
        yield lines


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
