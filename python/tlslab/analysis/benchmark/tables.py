"""The tables of benchmarks: scaling, processors, drawing of the message, published figures."""

from collections.abc import Mapping, Sequence

from tlslab.analysis.benchmark.curves import Curve
from tlslab.analysis.benchmark.processors import Costs, without_drawing
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    OPERATION,
    OPERATION_COST,
    OPERATION_MEAN,
    OPERATIONS,
    SIGNERS_COST,
    statistic,
)
from tlslab.domain.figure import DataTable, TableCell

# With a smaller contention or coherency a fit has ended at its bound, 0.
_AT_BOUND = 1e-9

# The estimates in the tables of all cells.
_RATES = {OPERATIONS: "per s", OPERATION_COST: "general µs", SIGNERS_COST: "signing µs"}
_TIMES = {
    statistic(OPERATION, name): f"{name} ms" for name in ("mean", "p50", "p90", "p99", "p999")
}


def tables(curves: Sequence[Curve], found: Sequence[Costs]) -> tuple[DataTable, ...]:
    """All tables that have rows."""
    made = (
        _scaling(curves),
        _processors(found),
        _drawing(curves),
        _cells("rates", "Throughput and processor time of all cells", curves, _RATES),
        _cells("times", "Service times of all cells", curves, _TIMES),
    )
    return tuple(table for table in made if table.rows)


def _scaling(curves: Sequence[Curve]) -> DataTable:
    return DataTable(
        id="scaling",
        title="How far concurrency helps",
        caption="Knee: the fewest threads that no higher number is detectably faster than. Linear "
        "to: the most threads with at least 0.9 of their share. Contention and coherency are "
        "the parameters of the Universal Scalability Law, without an interval if all fits ended at "
        "their bound, 0; its peak where it has one within twice the threads that were measured.",
        columns=(
            "benchmark", "on", "best per s", "at threads", "knee", "linear to", "contention",
            "coherency", "peak at threads", "fit R2",
        ),
        rows=tuple(_scaling_row(curve) for curve in curves if len(curve.cells) > 1),
        brief=("benchmark", "on", "best per s", "at threads", "knee"),
    )  # fmt: skip


def _scaling_row(curve: Curve) -> tuple[TableCell, ...]:
    threads, best = curve.best
    law, knee = curve.law, curve.knee
    return (
        curve.what,
        curve.name,
        best,
        threads,
        None if knee is None else (f"above {threads}" if knee.at_end else knee.at),
        None if knee is None else knee.linear_to,
        at_bound(law.contention) if law else None,
        at_bound(law.coherency) if law else None,
        law.peak_at if law else None,
        f"{law.r_squared:.3f}" if law else None,
    )


def at_bound(parameter: Estimate) -> Estimate:
    """A parameter of the law for a reader: 0 without an interval if all fits ended at its bound.

    The fits without one block then differ by rounding alone, and their interval would exclude all
    but 0, which the data do not.
    """
    if parameter.value > _AT_BOUND or (parameter.high or 0.0) > _AT_BOUND:
        return parameter
    return Estimate(0.0, None, None, parameter.n, parameter.unit, "at its bound: no interval")


def _processors(found: Sequence[Costs]) -> DataTable:
    return DataTable(
        id="processors",
        title="General and signing processors",
        caption="Processor time per operation of the benchmark's own process and of the signing "
        "processes, over all threads; signing over general is how many signing processors "
        "keep one general one busy. The last column sets the fitted peak against the rate "
        "at which these costs would fill the machine's processors.",
        columns=(
            "benchmark", "on", "general µs", "signing µs", "signing per general",
            "of the processors' limit",
        ),
        rows=tuple(
            (each.curve.what, each.curve.name, each.general, each.signing, each.ratio,
             each.ceiling_share)
            for each in found
        ),
    )  # fmt: skip


def _drawing(curves: Sequence[Curve]) -> DataTable:
    rows = []
    for curve in curves:
        drawn = next(
            (c for c in curves if c.benchmark == "draw" and c.runtime == curve.runtime), None
        )
        left = without_drawing(curves, curve, OPERATION_MEAN)
        if drawn is None or left is None:
            continue
        values = [each.first.summary.estimates.get(OPERATION_MEAN) for each in (drawn, curve)]
        cpu = without_drawing(curves, curve, OPERATION_COST)
        rows.append((curve.name, *values, left, cpu))
    return DataTable(
        id="drawing",
        title="Signing without drawing the message",
        caption="Mean times in milliseconds, and processor time in microseconds, at the fewest "
        "threads; differences are paired by block.",
        columns=("on", "drawing ms", "drawn and signed ms", "signed ms", "signed µs"),
        rows=tuple(rows),
    )


def _cells(name: str, title: str, curves: Sequence[Curve], shown: Mapping[str, str]) -> DataTable:
    rows: list[tuple[TableCell, ...]] = []
    for curve in curves:
        for threads, cell in curve.cells.items():
            values = [cell.summary.estimates.get(estimate) for estimate in shown]
            if any(value is not None for value in values):
                rows.append((curve.what, curve.name, threads, *values))
    return DataTable(
        id=name,
        title=title,
        caption="Means over forks with their 95 % intervals; processor time and times are those of "
        "one operation.",
        columns=("benchmark", "on", "threads", *shown.values()),
        rows=tuple(rows),
    )
