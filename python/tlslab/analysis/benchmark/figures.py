"""The figures of benchmarks: throughput and latency over threads, composition of the time."""

from collections.abc import Sequence

from tlslab.analysis.benchmark.curves import BENCHMARK_WORDS, Curve
from tlslab.analysis.benchmark.processors import Composition
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPERATION, OPERATION_MEAN, OPERATIONS, quantile
from tlslab.domain.figure import Figure, Mark, Series

Point = tuple[int, Estimate]


def figures(curves: Sequence[Curve], composed: Sequence[Composition]) -> tuple[Figure, ...]:
    """All figures: for each benchmark, throughput and latency; then the compositions.

    Latency is drawn on linear and on logarithmic axes.
    """
    found: list[Figure] = []
    for benchmark in dict.fromkeys(curve.benchmark for curve in curves):
        own = [curve for curve in curves if curve.benchmark == benchmark]
        # One number of threads is no curve: the table has its figures.
        if all(len(curve.cells) < 2 for curve in own):
            continue
        found.append(_throughput(benchmark, own))
        if any(_tail(curve) for curve in own):
            found += [_latency(benchmark, own, log=False), _latency(benchmark, own, log=True)]
    if composed:
        found.append(_composition(composed))
    return tuple(found)


def _throughput(benchmark: str, curves: Sequence[Curve]) -> Figure:
    series = [_series(curve.name, curve.estimates(OPERATIONS)) for curve in curves]
    marks: tuple[Mark, ...] = ()
    if len(curves) == 1 and curves[0].knee is not None and not curves[0].knee.at_end:
        marks = (Mark(curves[0].knee.at.value, "knee"),)
    fits = [_law(curve) for curve in curves if curve.law is not None]
    return Figure(
        id=f"throughput-{benchmark}",
        title=f"{BENCHMARK_WORDS[benchmark]}: throughput against concurrency",
        caption="Operations per second of all threads together; the mean over forks with its 95 % "
        "interval. Dashed: the Universal Scalability Law fitted to all forks.",
        kind="line",
        x_title="threads",
        y_title="operations per second",
        series=tuple(series + fits),
        marks=marks,
    )


def _law(curve: Curve) -> Series:
    assert curve.law is not None
    threads = sorted(curve.cells)
    places = tuple(float(n) for n in range(threads[0], threads[-1] + 1))
    return Series(
        f"{curve.name}: law",
        places,
        tuple(curve.law.at(place) for place in places),
        dashed=True,
    )


def _tail(curve: Curve) -> list[Point]:
    return curve.estimates(quantile(OPERATION, 99))


def _latency(benchmark: str, curves: Sequence[Curve], log: bool) -> Figure:
    series = []
    for curve in curves:
        if tail := _tail(curve):
            series.append(_series(f"{curve.name}: p99", tail))
        if log and (means := curve.estimates(OPERATION_MEAN)):
            series.append(_series(f"{curve.name}: mean", means, dashed=True))
    axes = "logarithmic axes" if log else "linear axes"
    dashed = " Dashed: the mean." if log else ""
    return Figure(
        id=f"latency-{'log' if log else 'linear'}-{benchmark}",
        title=f"{BENCHMARK_WORDS[benchmark]}: latency against concurrency, {axes}",
        caption="Service time of an operation: the 99th percentile of each fork, its mean over "
        f"forks with its 95 % interval.{dashed} A thread that waits for a processor is "
        "measured along.",
        kind="line",
        x_title="threads",
        y_title="milliseconds",
        series=tuple(series),
        x_log=log,
        y_log=log,
    )


def _series(name: str, points: Sequence[Point], dashed: bool = False) -> Series:
    return Series.of(name, [(float(threads), each) for threads, each in points], dashed)


def _composition(composed: Sequence[Composition]) -> Figure:
    names = tuple(f"{each.curve.what}: {each.curve.name}" for each in composed)
    parts = (
        ("general processors", tuple(each.general_us for each in composed)),
        ("signing processors", tuple(each.signing_us for each in composed)),
        ("waiting", tuple(each.waiting_us for each in composed)),
    )
    threads = composed[0].threads
    return Figure(
        id="composition",
        title=f"Where the time of an operation goes, at {threads} "
        f"{'thread' if threads == 1 else 'threads'}",
        caption="Mean time of an operation: processor time of the benchmark's own process, that of "
        "the processes that sign elsewhere, and the rest. A key behind PKCS #11 is in the "
        "benchmark's own process.",
        kind="stacked_bars",
        x_title="",
        y_title="microseconds per operation",
        series=tuple(Series(name, names, values) for name, values in parts),
    )
