"""The study of 2008: a login service on Tomcat, on two JDKs, under more logins than it can accept.

It adds the warm-up time of each JVM, the overload over time, httperf's block, and the published
figures beside ours. It named two remedies and measured neither: OpenSSL in place of the JVM's TLS,
and a front that terminates TLS. The experiment measures both.
"""

from collections.abc import Callable, Iterator, Sequence

from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.figures import identifier
from tlslab.analysis.capacity.points import LoadPoint, by_fraction
from tlslab.analysis.capacity.ratios import flag, over
from tlslab.analysis.capacity.summary import measured_cells
from tlslab.analysis.stats.estimate import estimate
from tlslab.analysis.stats.steady_state import classify
from tlslab.domain.capacity import CapacityPlan, WarmUpRules, plan_of
from tlslab.domain.cell_names import cell_names, percent_of_maximum
from tlslab.domain.experiment import CAPACITY
from tlslab.domain.figure import DataTable, Figure, Series, TableCell, TextBlock
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.domain.trial import PaceSample
from tlslab.domain.warm_up import warm_ups
from tlslab.domain.wording import percent, ratio_figure
from tlslab.studies.runtimes.httperf import httperf_block
from tlslab.studies.study import Additions, Figures, Study, source

Named = Sequence[tuple[str, CapacityCell]]


def adds(contents: RunContents, summary: Summary, study: Figures) -> Additions:
    """Figures, tables and blocks on Java runtimes."""
    plan = plan_of(contents.experiment)
    cells = measured_cells(contents, plan)
    tables = (*warm_up_table(cells, plan), published(cells, study))
    return Additions(
        figures=figures(cells, plan),
        tables=tuple(table for table in tables if table.rows),
        texts=blocks(cells),
    )


RUNTIMES = Study("runtimes", "tomcat-2008", CAPACITY, adds)


def _named(cells: Sequence[CapacityCell]) -> Named:
    return list(zip(cell_names([cell.factors for cell in cells]), cells, strict=True))


def figures(cells: Sequence[CapacityCell], plan: CapacityPlan) -> tuple[Figure, ...]:
    """Warm-up by runtime, and the overload over time: connections, service time, failures."""
    named = _named(cells)
    drawn = [_warming(named, plan.warm_up)] if plan.warm_up is not None else []
    loaded = [(name, cell) for name, cell in named if cell.points]
    for fraction in by_fraction([p for _, cell in loaded for p in cell.points]):
        drawn += _overload(loaded, fraction)
    return tuple(figure for figure in drawn if figure.series)


def _warming(named: Named, rules: WarmUpRules) -> Figure:
    series = []
    for name, cell in named:
        for found in warm_ups(cell.trials, rules)[:1]:
            width = found.seconds / len(found.rates)
            at = tuple(width * (number + 1) for number in range(len(found.rates)))
            series.append(Series(name, at, found.rates))
    return Figure(
        id="warm-up",
        title="A fresh JVM gets warm",
        caption=(
            f"New connections/s in a closed loop of {rules.connections:,}, from the start of the "
            f"first server of each runtime until the last {rules.steady} rates are within "
            f"{percent(rules.width)} of their mean. All that is measured comes after it."
        ),
        kind="line",
        x_title="seconds of load",
        y_title="new connections/s",
        series=tuple(series),
    )


# Figures of an overload: the ends of their ids, titles, and the values of a slice of time.
_OVER_TIME: tuple[tuple[str, str, Callable[[PaceSample], float | None]], ...] = (
    ("at-once", "connections at once", lambda sample: float(sample.in_flight)),
    ("time", "service time p50, ms", lambda sample: sample.service_p50_ms),
    ("failed", "failed connections", lambda sample: float(sample.failed)),
)


def _overload(named: Named, fraction: float) -> Iterator[Figure]:
    """Three figures of the first run of each runtime at one share of its maximum."""
    first = [
        (name, point.run.pace)
        for name, cell in named
        if (point := _first(cell, fraction)) is not None
    ]
    share = percent_of_maximum(fraction)
    for part, title, read in _OVER_TIME:
        yield Figure(
            id=identifier("overload", part, f"{fraction * 100:g}"),
            title=f"{title[0].upper()}{title[1:]} over time, offered {share} of the maximum",
            caption=(
                "An open loop: connections come whether or not the server keeps up. The first run "
                "of each runtime, warm-up and drain included."
            ),
            kind="line",
            x_title="seconds",
            y_title=title,
            series=tuple(
                Series(name, tuple(s.at_s for s in pace), tuple(map(read, pace)))
                for name, pace in first
                if len(pace) > 1
            ),
        )


def _first(cell: CapacityCell, fraction: float) -> LoadPoint | None:
    return next((p for p in cell.points if p.fraction == fraction), None)


def warm_up_table(cells: Sequence[CapacityCell], plan: CapacityPlan) -> tuple[DataTable, ...]:
    """The duration of warm-up, by runtime."""
    rules = plan.warm_up
    if rules is None:
        return ()
    rows: list[tuple[TableCell, ...]] = []
    for name, cell in _named(cells):
        found = warm_ups(cell.trials, rules)
        if not found:
            continue
        gains = [w.rates[-1] / w.rates[0] for w in found if w.rates and w.rates[0] > 0]
        rows.append(
            (
                name,
                len(found),
                estimate([w.seconds for w in found], "s"),
                estimate(gains, "") if gains else None,
                f"{sum(w.warm for w in found)} of {len(found)}",
                classify(found[0].rates).replace("_", " "),
            )
        )
    table = DataTable(
        id="warm-up-table",
        title="How long a fresh JVM takes to get warm",
        caption=(
            "Under load, to the end of the window in which the rate was found steady; "
            f"{rules.most * rules.window.measure_ms / 1000:g} s at most. The last column is what "
            "change points say of the first server's rates as a whole."
        ),
        columns=(
            "runtime", "servers", "seconds under load", "last rate over first", "found steady",
            "change points",
        ),
        rows=tuple(rows),
    )  # fmt: skip
    return (table,)


def blocks(cells: Sequence[CapacityCell]) -> tuple[TextBlock, ...]:
    """Httperf's block of the first run of each runtime, at each load."""
    blocks = []
    for name, cell in _named(cells):
        for fraction in by_fraction(cell.points):
            point = _first(cell, fraction)
            assert point is not None
            blocks.append(
                TextBlock(
                    id=identifier("httperf", name, f"{fraction * 100:g}"),
                    title=f"httperf's block: {name}, {percent_of_maximum(fraction)} of its maximum",
                    caption="Our run in httperf's words; the same numbers as in the record.",
                    text=httperf_block(point.run),
                )
            )
    return tuple(blocks)


def _over_first(cell: CapacityCell, first: CapacityCell) -> TableCell:
    """A maximum over the first cell's; in words if one of them is a lower bound."""
    assert cell.maximum is not None
    assert first.maximum is not None
    paired = None if cell is first else over(cell, first)
    ratio = cell.maximum.value / first.maximum.value if paired is None else paired.comparison.ratio
    mark = "" if paired is None else flag(paired)
    return f"{mark} {ratio_figure(ratio)}" if mark else ratio


def published(cells: Sequence[CapacityCell], study: Figures) -> DataTable:
    """The study's runtimes and ours, each relative to the first of its own."""
    old = study["runtime"]
    rows: list[tuple[TableCell, ...]] = [
        (
            f"{each['name']} ({study['date']})",
            each["connections_per_s"] / old[0]["connections_per_s"],
            each["connect_ms"] / each["connection_ms"]["avg"],
            each["connection_ms"]["avg"] / each["connection_ms"]["median"],
            each["concurrent_most"],
        )
        for each in old
    ]
    named = [(name, cell) for name, cell in _named(cells) if cell.has_maximum]
    first = named[0][1] if named else None
    for name, cell in named:
        point = _first(cell, max((p.fraction for p in cell.points), default=0.0))
        assert first is not None
        whole = point.run.record.summaries.get("service") if point else None
        connect = point.run.record.summaries.get("established") if point else None
        rows.append(
            (
                name,
                _over_first(cell, first),
                connect.mean_ms / whole.mean_ms if whole and connect and whole.mean_ms else None,
                whole.mean_ms / whole.p50_ms if whole and whole.p50_ms else None,
                max((s.in_flight for s in point.run.pace), default=None) if point else None,
            )
        )
    return DataTable(
        id="published",
        title=f"Beside the study of {study['date']}",
        caption=(
            f"{source(study)}. Ratios, "
            "because absolute rates mean nothing across machines: the rate over that of the first "
            "runtime of its own table; the rest is of the overload, here of the highest load that "
            "was offered. Connections at once depend on how long an overload lasts."
        ),
        columns=(
            "runtime", "connections/s over the first", "connect's share of connection time",
            "mean over median connection time", "connections at once, most",
        ),
        rows=tuple(rows) if named else (),
    )  # fmt: skip
