"""A history as CSV: a line for each value, with its level."""

from collections.abc import Iterator

from tlslab.domain.estimates import estimate_name
from tlslab.domain.history import History
from tlslab.report.csv import Value, csv_text


def render_history_csv(found: History) -> str:
    """The values of all series, oldest first."""
    return csv_text(_lines(found))


def _lines(found: History) -> Iterator[tuple[Value, ...]]:
    yield (
        "history", "cell", "estimate", "words", "unit", "run", "began", "value", "level", "changed",
    )  # fmt: skip
    for series in found.cells:
        changes = {change.index for change in series.changes}
        levels = {
            index: level.value
            for level in series.levels
            for index in range(level.first, level.last + 1)
        }
        for index, (run, value) in enumerate(zip(series.runs, series.values, strict=True)):
            yield (
                series.history, series.label, series.estimate, estimate_name(series.estimate),
                series.unit, run, found.run(run).began, value,
                levels.get(index), index in changes,
            )  # fmt: skip
