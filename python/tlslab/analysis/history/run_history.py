"""The history of many runs: its cells, their changes, and its verdict. Pure.

The series of a history are one family. A series has the smallest p-value of its change points; the
false discovery rate over the series (Benjamini and Hochberg) selects the series that have changed.
Within those the change points are searched once more, at the level that this leaves (Benjamini and
Bogomolov 2014, "Selective inference on multiple families of hypotheses", Journal of the Royal
Statistical Society B 76): of the series that are reported, at most 5 % on average have a false
change. Without any change at all, at most 5 % of histories report one. Both hold for independent,
normal noise.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from tlslab.analysis.compare import direction
from tlslab.analysis.history.estimates_over_runs import (
    EstimateLine,
    Run,
    in_order,
    lines,
    unlike_machines,
)
from tlslab.analysis.run_facts import environment_facts
from tlslab.analysis.stats.change_points import ChangePoint, change_points, findable, segments
from tlslab.analysis.stats.estimate import CONFIDENCE, Array, Interval
from tlslab.analysis.stats.families import LEVEL, false_discovery
from tlslab.domain.history import (
    CellHistory,
    ChangeVerdict,
    EstimateChange,
    FactChange,
    History,
    HistoryRun,
    HistoryVerdict,
    SeriesLevel,
    missing,
)
from tlslab.domain.run import MEMORY

# With fewer runs only steps of more than six standard deviations could be found.
LEAST_RUNS = 6

# Smaller changes are not reported.
SMALLEST = 0.01


@dataclass(frozen=True)
class SeriesChange:
    """The change points of a series (shape of `logs`: n), and the level at which it was judged."""

    logs: Array
    points: tuple[ChangePoint, ...]
    level: float


def find(values: Sequence[Sequence[float]], smallest: float = SMALLEST) -> list[SeriesChange]:
    """The changes of the logarithms of each series, judged as one family. All must be positive."""
    logs = [np.log(np.asarray(each, dtype=np.float64)) for each in values]
    magnitude = math.log1p(smallest)
    alone = [change_points(each, LEVEL, magnitude) for each in logs]
    adjusted = false_discovery([min((point.p for point in each), default=1.0) for each in alone])
    chosen = [p <= LEVEL for p in adjusted]
    level = LEVEL * max(1, sum(chosen)) / max(1, len(logs))
    return [
        SeriesChange(each, change_points(each, level, magnitude) if changed else (), level)
        for each, changed in zip(logs, chosen, strict=True)
    ]


def welch(before: Array, after: Array) -> Interval | None:
    """The 95 % interval of the difference of means, after - before, by Welch's t.

    None if a side has fewer than two values. Welch 1947, "The generalization of Student's problem
    when several different population variances are involved", Biometrika 34.
    """
    if min(len(before), len(after)) < 2:
        return None
    if np.ptp(before) == 0 and np.ptp(after) == 0:
        step = float(after.mean() - before.mean())
        return step, step
    with warnings.catch_warnings():
        # Bytes may be the same in all runs of a side: its variance is 0, for which scipy warns.
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        test = scipy.stats.ttest_ind(after, before, equal_var=False)
    found = test.confidence_interval(CONFIDENCE)
    return float(found.low), float(found.high)


# Facts that differ between any two runs.
_OF_ONE_RUN = ("made", "machine: load_average", f"machine: {MEMORY}")


def history(
    runs: Sequence[Run], smallest: float = SMALLEST, across_machines: bool = False
) -> History:
    """The changes of all cells over the runs, which may come in any order.

    Runs of one experiment, workload, target and kind of machine are one history; with
    `across_machines` those of all machines are. Changes smaller than `smallest` do not count.

    Raises StoreError for a run whose time cannot be read.
    """
    ordered = in_order(runs)
    found = lines(ordered, across_machines)
    long = [line for line in found if len(line.values) >= LEAST_RUNS]
    judged = {id(line): each for line, each in zip(long, _found(long, smallest), strict=True)}
    cells = tuple(_cell(line, judged.get(id(line))) for line in found)
    return History(
        verdict=_verdict(cells, missing(cells)),
        runs=tuple(_run(run) for run in ordered),
        cells=cells,
        least_runs=LEAST_RUNS,
        smallest=smallest,
        warnings=unlike_machines(ordered, across_machines),
    )


def _found(long: Sequence[EstimateLine], smallest: float) -> list[SeriesChange]:
    return find([line.values for line in long], smallest)


def _run(run: Run) -> HistoryRun:
    where, what = run.summary.environment, run.summary.experiment
    return HistoryRun(run.name, run.began.isoformat(), run.machine, what.target, where.tlslab)


def _cell(line: EstimateLine, found: SeriesChange | None) -> CellHistory:
    logs = np.log(np.asarray(line.values, dtype=np.float64))
    points = [] if found is None else [point.index for point in found.points]
    return CellHistory(
        history=line.history,
        cell=line.cell.key,
        label=line.label,
        estimate=line.estimate,
        unit=line.unit,
        runs=tuple(run.name for run in line.runs),
        values=line.values,
        missing_in=line.missing_in,
        levels=tuple(_levels(logs, points)),
        changes=() if found is None else tuple(_changes(line, found)),
        findable=None if found is None else _as_share(findable(logs, points, found.level)),
    )


def _as_share(step: float) -> float | None:
    """A step of logarithms as a share; None if it is too large for a meaningful number."""
    return math.expm1(step) if step < 5 else None


def _levels(logs: Array, points: Sequence[int]) -> Iterator[SeriesLevel]:
    first = 0
    for part in segments(logs, points):
        yield SeriesLevel(first, first + len(part) - 1, math.exp(float(part.mean())))
        first += len(part)


def _changes(line: EstimateLine, found: SeriesChange) -> Iterator[EstimateChange]:
    parts = segments(found.logs, [point.index for point in found.points])
    for number, point in enumerate(found.points):
        before, after = parts[number], parts[number + 1]
        interval = welch(before, after)
        verdict = _judged(interval, line.estimate)
        runs = line.runs[point.index - 1], line.runs[point.index]
        yield EstimateChange(
            index=point.index,
            before=runs[0].name,
            after=runs[1].name,
            ratio=math.exp(float(after.mean() - before.mean())),
            low=None if interval is None else math.exp(interval[0]),
            high=None if interval is None else math.exp(interval[1]),
            n_before=len(before),
            n_after=len(after),
            p=point.p,
            verdict=verdict,
            in_force=_in_force(before, after, parts[-1]),
            facts=_changed_facts(*runs),
        )


def _judged(interval: Interval | None, estimate: str) -> ChangeVerdict:
    if interval is None or interval[0] <= 0 <= interval[1]:
        return "cannot_tell"
    return direction(estimate, interval[0] > 0)


def _in_force(before: Array, after: Array, newest: Array) -> bool | None:
    """Whether the newest level still lies on the same side of the level before the change."""
    interval = welch(before, newest)
    if interval is None:
        return None
    return interval[0] > 0 if after.mean() > before.mean() else interval[1] < 0


def _changed_facts(before: Run, after: Run) -> tuple[FactChange, ...]:
    """The facts of the environment that differ, in the order in which they are stored."""
    sides = [environment_facts(run.summary.environment) for run in (before, after)]
    names = [name for name in dict.fromkeys([*sides[0], *sides[1]]) if name not in _OF_ONE_RUN]
    pairs = ((name, sides[0].get(name, "-"), sides[1].get(name, "-")) for name in names)
    return tuple(FactChange(*each) for each in pairs if each[1] != each[2])


def _verdict(cells: Sequence[CellHistory], without: Sequence[CellHistory]) -> HistoryVerdict:
    """The verdict; a newest run that did not measure the cells `without` shows nothing of them."""
    changes = [(cell, change) for cell in cells for change in cell.changes]
    if any(change.verdict == "slower" and change.in_force for _, change in changes):
        return "slower"
    if without or any(_may_be_slower(cell, change) for cell, change in changes):
        return "cannot_tell"
    return "not_slower" if any(cell.judged for cell in cells) else "cannot_tell"


def _may_be_slower(cell: CellHistory, change: EstimateChange) -> bool:
    """Whether a slowdown is open: no interval decides on it, or on whether it is in force."""
    if direction(cell.estimate, change.ratio > 1) != "slower":
        return False
    undecided = change.verdict == "cannot_tell" and change is cell.changes[-1]
    return undecided or (change.verdict == "slower" and change.in_force is None)
