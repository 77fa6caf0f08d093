"""Processor use over the time of the measurement, as the mean over a cell's trials."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tlslab.domain.finding import CpuSeries
from tlslab.domain.trial import RunKind, Trial, TrialRun

# The server is sampled about five times a second: finer slices would only show the sampling.
SLICE_S = 0.2

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Used:
    """Processor time in seconds since the start, at the given seconds from it."""

    at_s: Array
    user: Array
    system: Array


def cpu_over_time(
    trials: Sequence[Trial], kind: RunKind = "capacity", processors: int | None = None
) -> dict[str, CpuSeries]:
    """`client` and `server` in the runs of a kind; absent if nothing is known.

    `processors`: the number that the server has; None if unknown. Samples are a little late or
    early: a slice in which a side would be more than 100 % busy is cut to 100 %.
    """
    runs = [run for trial in trials if (run := trial.runs.get(kind)) is not None]
    workers = max((len(run.record.workers) for run in runs), default=0)
    found = {
        "client": _mean([_client(run) for run in runs], workers or None),
        "server": _mean([used for run in runs if (used := _server(run)) is not None], processors),
    }
    return {side: series for side, series in found.items() if series is not None}


def _client(run: TrialRun) -> _Used:
    slices = run.record.intervals
    return _used(
        np.array([0.0, *(each.at_s + each.seconds for each in slices)]),
        np.cumsum([0, *(each.cpu.user_us for each in slices)]),
        np.cumsum([0, *(each.cpu.system_us for each in slices)]),
    )


def _server(run: TrialRun) -> _Used | None:
    if run.server is None:
        return None
    samples = run.server.samples
    return _used(
        np.array([0.0, *(each.at_s for each in samples)]),
        np.array([0, *(each.user_us for each in samples)]),
        np.array([0, *(each.system_us for each in samples)]),
    )


def _used(at_s: Array, user_us: npt.NDArray[np.int_], system_us: npt.NDArray[np.int_]) -> _Used:
    return _Used(at_s, user_us / 1e6, system_us / 1e6)


def _mean(runs: Sequence[_Used], processors: int | None) -> CpuSeries | None:
    """The mean of all runs on one grid, as long as the shortest, interpolated."""
    ends = [float(run.at_s[-1]) for run in runs if len(run.at_s) > 1]
    # A measurement ends a little before or after its time; a tenth of a slice may be missing.
    slices = int(min(ends, default=0.0) / SLICE_S + 0.1)
    if slices < 1:
        return None
    grid = np.arange(slices + 1) * SLICE_S
    measured = [run for run in runs if len(run.at_s) > 1]

    def shares(name: str) -> Array:
        totals = [np.interp(grid, run.at_s, getattr(run, name)) for run in measured]
        return np.asarray(np.diff(np.mean(totals, axis=0)) / SLICE_S)

    user, system = shares("user"), shares("system")
    if processors is not None:
        whole = np.maximum(user + system, 1e-9)
        cut = np.minimum(1.0, processors / whole)
        user, system = user * cut, system * cut
    at = tuple(float(end) for end in grid[1:])
    return CpuSeries(at, tuple(map(float, user)), tuple(map(float, system)))
