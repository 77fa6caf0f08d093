"""Many runs of the same cells over time: series, changes of level, and coinciding changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# `more` and `less` apply to amounts, such as memory and bytes: neither is a slowdown.
ChangeVerdict = Literal["slower", "faster", "more", "less", "cannot_tell"]
HistoryVerdict = Literal["slower", "not_slower", "cannot_tell"]


@dataclass(frozen=True)
class HistoryRun:
    """A run of a history: its folder's name, its start (ISO 8601), its machine, server and load."""

    name: str
    began: str
    machine: str
    target: str
    tlslab: str
    load: str = ""


@dataclass(frozen=True)
class FactChange:
    """A fact of the environment that differs between two runs: listed, never called a cause."""

    fact: str
    before: str
    after: str


@dataclass(frozen=True)
class EstimateChange:
    """A change of level between two neighbouring runs of a series.

    `index`: the first value after the change, counted from 0; `before` and `after` name the runs.
    `ratio`: the level after over the level before, with Welch's 95 % interval (as if the place of
    the change had been known beforehand); the interval is None if a side has fewer than two runs.
    `p` is adjusted for the places of the series, not for the other series. `in_force`: the level of
    the newest runs is established to differ from the level before the change, in the same
    direction; None if that level has no interval.
    """

    index: int
    before: str
    after: str
    ratio: float
    low: float | None
    high: float | None
    n_before: int
    n_after: int
    p: float
    verdict: ChangeVerdict
    in_force: bool | None
    facts: tuple[FactChange, ...]


@dataclass(frozen=True)
class SeriesLevel:
    """The geometric mean of a series from one run to another (counted from 0, both included)."""

    first: int
    last: int
    value: float


@dataclass(frozen=True)
class CellHistory:
    """One estimate of one cell over the runs that have it, oldest first.

    `history` names experiment, server and machine; `runs` and `values` have the same length.
    `levels` are the segments between the changes. `findable`: the size of a lasting step in the
    middle of the series that would be found nine times in ten, as a share (0.03: 3 %); None if too
    few runs have the cell for any change to be found. Such a series is not judged. `missing_in`:
    the newest run, if it has the cell without a usable value of this estimate.
    """

    history: str
    cell: str
    label: str
    estimate: str
    unit: str
    runs: tuple[str, ...]
    values: tuple[float, ...]
    levels: tuple[SeriesLevel, ...]
    changes: tuple[EstimateChange, ...]
    findable: float | None
    missing_in: str | None = None

    @property
    def judged(self) -> bool:
        """Whether there were enough runs to look for a change."""
        return self.findable is not None


def missing(cells: Sequence[CellHistory]) -> tuple[CellHistory, ...]:
    """A series of each cell of which the newest run has no usable value by any estimate."""
    by_cell: dict[tuple[str, str], list[CellHistory]] = {}
    for each in cells:
        if each.judged:
            by_cell.setdefault((each.history, each.cell), []).append(each)
    return tuple(
        series[0]
        for series in by_cell.values()
        if all(each.missing_in is not None for each in series)
    )


@dataclass(frozen=True)
class History:
    """The result of `tlslab history`, the only input of its pages and texts.

    `verdict`: `slower` if a slowdown is established and in force at the newest run; `cannot_tell`
    if one is open, no cell has enough runs, or the newest run has no usable value of a cell; else
    `not_slower`. `least_runs`: the number of runs that a series needs to be judged; `smallest`: the
    smallest change that counts, as a share.
    """

    verdict: HistoryVerdict
    runs: tuple[HistoryRun, ...]
    cells: tuple[CellHistory, ...]
    least_runs: int
    smallest: float
    warnings: tuple[str, ...] = ()
    schema: str = "tlslab.history/1"

    def run(self, name: str) -> HistoryRun:
        """The run with this name. Raises KeyError when there is none."""
        for run in self.runs:
            if run.name == name:
                return run
        raise KeyError(name)
