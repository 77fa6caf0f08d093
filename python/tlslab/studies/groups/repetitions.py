"""Processor use over time of all groups in one figure, and repetitions beside the study's."""

from collections.abc import Iterator, Mapping, Sequence

from tlslab.analysis.compare import Measured
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.matrix.figures import use_over_time
from tlslab.analysis.ranking import settings
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import CONNECTIONS, CONNECTIONS_PER_CPU
from tlslab.domain.figure import DataTable, Figure, TableCell
from tlslab.domain.finding import Comparison, Finding, Summary
from tlslab.domain.setting import LEADING
from tlslab.domain.wording import cell_label, setting_of
from tlslab.studies.study import Figures

SIDES = ("server", "client")


def processor_use(cells: Sequence[Measured], baseline: Mapping[str, str]) -> Iterator[Figure]:
    """For each setting and side a figure with a line for each group, the study's setting first."""
    ordered = sorted(settings(cells, baseline), key=lambda each: not _is_the_studys(each))
    for number, setting in enumerate(ordered, start=1):
        named = [
            (cell.summary.factors["group"], cell)
            for cell in cells
            if setting_of(cell.summary.factors, baseline) == setting
        ]
        for side in SIDES:
            title = f"Processor use over time, {side}: {cell_label(setting)}"
            figure = use_over_time(f"{LEADING}{number}-{side}", title, side, named, kernel=True)
            if figure is not None and any(len(series.x) > 1 for series in figure.series):
                yield figure


def _is_the_studys(levels: Mapping[str, str]) -> bool:
    return (levels.get("tls"), levels.get("key")) == ("1.2", "ecdsa-p256")


def table(cells: Sequence[Measured], summary: Summary, study: Figures) -> tuple[DataTable, ...]:
    """The time for the study's number of connections, by block, beside the study's ranges."""
    found = {(each.candidate, each.estimate): each for each in summary.comparisons}
    rows = [row for cell in cells if (row := _row(cell, found, study)) is not None]
    if not rows:
        return ()
    low, high = study["repetitions"]["seconds"]
    first = (f"the study ({study['date']}), one group", None, None, None, None, low, high)
    return (
        DataTable(
            id="repetitions",
            title="Repetitions beside the study's",
            caption=(
                f"Seconds for {study['repetitions']['connections']:,} new connections at the rates "
                "of the blocks: shortest, longest, and the longest over the shortest. Times over "
                f"those with {study['baseline']['group']}: the study's range, and ours with its "
                "interval, by the rate and by both sides' processor time."
            ),
            columns=(
                "", "study: times as long", "here", "here, both sides", "blocks", "shortest, s",
                "longest, s", "longest / shortest",
            ),
            rows=((*first, high / low), *rows),
        ),
    )  # fmt: skip


def _row(
    cell: Measured, found: Mapping[tuple[str, str], Comparison], study: Figures
) -> tuple[TableCell, ...] | None:
    times = seconds(cell, study)
    if not times:
        return None
    levels = cell.summary.factors
    is_its = all(levels.get(name) == level for name, level in study["applies_to"].items())
    span = study["times_as_long"].get(levels.get("group", "")) if is_its else None
    ours = [_inverse(found.get((cell.summary.key, name)))
            for name in (CONNECTIONS, CONNECTIONS_PER_CPU)]  # fmt: skip
    return (
        cell_label(levels),
        None if span is None else f"{span[0]:.2f} to {span[1]:.2f}",
        *ours,
        len(times),
        min(times),
        max(times),
        max(times) / min(times),
    )


def seconds(cell: Measured, study: Figures) -> list[float]:
    """How long the study's number of connections takes at the rate of each block.

    Empty if the rate is not the server's: the generator was the limit, or neither side was.
    """
    if not cell.may_compare(CONNECTIONS):
        return []
    count = study["repetitions"]["connections"]
    return [count / rate for rate in cell.values[CONNECTIONS].values()]


def _inverse(found: Comparison | None) -> Estimate | None:
    """The ratio of times from that of rates."""
    if found is None or found.verdict == "not_comparable":
        return None
    low, high = (None if end is None else 1 / end for end in (found.high, found.low))
    return Estimate(1 / found.ratio, low, high, found.n, "ratio", found.method)


def findings(cells: Sequence[Measured], study: Figures) -> Iterator[Finding]:
    """The spread of the baseline's repetitions beside the study's, with its setting if possible."""
    group = study["baseline"]["group"]
    known = [cell for cell in cells if cell.summary.factors.get("group") == group]
    known.sort(key=lambda cell: not _is_the_studys(cell.summary.factors))
    for cell in known:
        times = seconds(cell, study)
        if len(times) >= FEWEST:
            values = {
                "seconds": (min(times), max(times)),
                "blocks": len(times),
                "connections": study["repetitions"]["connections"],
                "published": study["repetitions"]["seconds"],
            }
            yield Finding("repetitions_published", cells=(cell.summary.key,), values=values)
            return
