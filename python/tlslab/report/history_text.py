"""A history for a terminal: a sentence first, then each change, then the series without one."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tlslab.domain.estimates import estimate_name
from tlslab.domain.history import CellHistory, Change, History
from tlslab.domain.plain import plain
from tlslab.report import history_words as words

_LIMIT = 2000

_STYLES = {"slower": "red", "faster": "green", "cannot_tell": "yellow"}


def render_history_text(found: History) -> RenderableType:
    """All results, in lines that fold at any width."""
    parts: list[RenderableType] = [_line(words.headline(found), style="bold"), Text()]
    histories = {each.history for each in found.cells}
    changed = words.changed_cells(found)
    for cell in changed:
        title = cell.label if len(histories) == 1 else f"{cell.label} ({cell.history})"
        parts += [_line(title, style="bold cyan"), *_changes(found, cell), Text()]
    if changed:
        quiet = sum(each.judged for each in words.unchanged(found))
        parts += [_line(f"No change was found in {quiet} other series.")] if quiet else []
        parts += [_line(words.could_have_found(found)), _line(words.NOISE), Text()]
    short = sum(not each.judged for each in found.cells)
    if short and words.judged_cells(found):
        parts.append(_line(f"Not judged: {short} series with fewer than {found.least_runs} runs."))
    parts += [_line(f"warning: {each}", style="yellow") for each in found.warnings]
    parts.append(_line(words.runs_words(found), style="dim"))
    return Group(*parts)


def _changes(found: History, cell: words.CellChanges) -> Iterator[RenderableType]:
    """The changes of a cell, grouped by the two runs between which they lie."""
    places: dict[tuple[str, str], list[tuple[CellHistory, Change]]] = {}
    for series in cell.series:
        for change in series.changes:
            places.setdefault((change.before, change.after), []).append((series, change))
    for changes in places.values():
        for series, change in changes:
            text = f"{estimate_name(series.estimate)}: {words.size(change)}"
            style = _STYLES.get(change.verdict, "")
            yield _line(f"{text}: {words.verdict_words(change)}", 2, style=style)
        yield _line(words.between(found, changes[0][1]), 4)
        yield _line(words.facts_words(changes[0][1]), 4)


def _line(text: str, indent: int = 0, style: str = "") -> RenderableType:
    return Padding(Text(plain(text, _LIMIT), style=style), (0, 0, 0, indent), expand=False)
