"""Made-up figures, tables and texts with everything that the report can draw."""

from dataclasses import replace

from tlslab.domain.estimate import Estimate
from tlslab.domain.figure import DataTable, Figure, Mark, Series, TextBlock
from tlslab.domain.finding import Finding, Note, Summary

RATE = Estimate(3412.0, 3390.0, 3440.0, 10, "1/s", "geometric mean, Student t")


def made_figures(name: str = "JDK 17") -> tuple[Figure, ...]:
    """A sweep over both axes, bars, stacked bars, a band over many points, a scatter."""
    threads = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    rates = (320.0, 500.0, 530.0, 525.0, 520.0, None)
    low, high = (310.0, 480.0, 500.0, 500.0, 500.0, None), (330.0, 520.0, 550.0, 550.0, 540.0, None)
    times = (4.0, 9.0, 18.0, 40.0, 90.0, 180.0)
    seconds = tuple(float(n) for n in range(60))
    load = tuple(100.0 + n for n in range(60))
    lower, upper = tuple(y - 5 for y in load), tuple(y + 5 for y in load)
    return (
        Figure(
            "sweep", "Throughput and p99 against concurrency", "two axes", "line", "threads",
            "handshakes/s",
            (Series(name, threads, rates, low, high),
             Series(name, threads, times, axis=2, dashed=True)),
            x_log=True, y_log=True, y2_title="p99, ms", marks=(Mark(4.0, "knee"),),
        ),
        Figure(
            "bars", "Bars", "with intervals", "bars", "server", "requests/s",
            (Series(name, ("nginx", "Apache"), (10.0, 9.0), (9.5, 8.5), (10.5, 9.5)),
             Series("other", ("nginx", "Apache"), (8.0, 7.0))),
        ),
        Figure(
            "stacked", "Stacked", "", "stacked_bars", "server", "us",
            (Series("user", ("nginx", "Apache"), (10.0, 9.0)),
             Series("system", ("nginx", "Apache"), (1.0, 2.0))),
        ),
        Figure(
            "band", "A band", "", "line", "s", "connections",
            (Series("load", seconds, load, lower, upper),),
        ),
        Figure(
            "scatter", "Points", "", "points", "rate", "ms",
            (Series("trials", (1.0, 1.0, 2.0), (4.0, 5.0, 6.0)),), marks=(Mark(1.5, "capacity"),),
        ),
    )  # fmt: skip


def with_data(summary: Summary, name: str = "JDK 17", kind: str = "capacity") -> Summary:
    """The summary as one of another kind, with figures, a table and a text."""
    broken = replace(
        summary.cells[0], verdict="failed", reasons=(Note("server_died", f"{name} ended at once"),)
    )
    return replace(
        summary,
        experiment=replace(summary.experiment, kind=kind, title=f"What does {name} carry?"),
        cells=(broken, *summary.cells[1:]),
        comparisons=(),
        rankings=(),
        answer=None,
        findings=(Finding("answer", f"{name} carries 3,412 (95 %: 3,390 to 3,440) connections/s."),
                  Finding("knee", f"The knee of {name} is at 4 threads.")),
        figures=made_figures(name),
        tables=(DataTable("t", f"Table of {name}", "a caption", ("server", "rate", "n", "none"),
                          (("nginx", RATE, 3, None), (name, 12.5, 16, "x"))),),
        texts=(TextBlock("conf", "Lines", "to be copied", f"first {name}\n  second & third\n"),),
        method=(f"Each maximum of {name} is searched.",),
    )  # fmt: skip
