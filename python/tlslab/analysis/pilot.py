"""The best length of a cell's trials, and the number of blocks, from the first blocks. Pure.

A trial has three sources of noise: changes within it (variance s_w^2 of a rate over one second, so
that a trial of L seconds contributes s_w^2 / L), changes from trial to trial (t), and changes from
start to start of the server (s; analysis.components). Only more blocks reduce the last two. Each
trial costs c seconds beside its measurement. For a given total time the variance of the mean is
least at L = sqrt(c s_w^2 / (t + s)) (Cochran 1977, "Sampling Techniques", section 10.6: two-stage
sampling with costs); s counts only in a cell that is compared with cells on other starts.

A block has one trial of each cell on one start: more trials on a start would pay only if t were
larger than s times the length of a trial over that of a start (the same section), and a server
starts in less time than a trial takes. The remaining choice is the number of blocks. The rule for
ending a run makes this choice. The forecast uses the half-width of the rule's intervals, at the
noise and for the difference that the pilot showed.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median

import numpy as np

from tlslab.analysis.components import Components, components
from tlslab.analysis.enough import seconds_apart
from tlslab.analysis.stats import sequence
from tlslab.analysis.stats.families import LEVEL
from tlslab.analysis.stats.steady_state import joined, rates
from tlslab.domain.plan import Plan
from tlslab.domain.setting import settings_of
from tlslab.domain.stopping import SHORTEST, Forecast, Stopping
from tlslab.domain.trial import Trial
from tlslab.domain.wording import setting_of
from tlslab.domain.workload import Workload

# A trial's time beside its windows, for starting runs, connecting and draining; in seconds.
OVERHEAD_S = 0.4

# With fewer slices a trial says nothing about the noise within it.
_LEAST_SLICES = 3

# The noise from trial to trial is the difference between the total and the noise within trials. It
# is at least this share of the total, because both are known from a few values only.
_LEAST_BETWEEN = 0.1


@dataclass(frozen=True)
class Pilot:
    """The noise in the first blocks.

    `within`: the variance over one second, by cell. `between`: the additional variance from trial
    to trial; `found`: the components that contain it. `logs`: the logarithms of the rates by cell.
    `starts`: the start of each cell. `mates`: the groups of cells that are compared with each
    other. `overhead_s`: a trial's time beside its windows.
    """

    workload: Workload
    stopping: Stopping
    found: Components
    within: Mapping[str, float]
    between: float
    logs: Mapping[str, Sequence[float]]
    starts: Mapping[str, Hashable]
    mates: Sequence[Sequence[str]]
    overhead_s: float

    def shares(self) -> Mapping[str, float]:
        """For each cell, the share of the full windows in trials after the pilot.

        Between SHORTEST and 1; cells about which the pilot knows nothing are left out.
        """
        return {
            cell: _share(within, self.between + self._start(cell), self.workload)
            for cell, within in self.within.items()
        }

    def _start(self, cell: str) -> float:
        """The variance of a start, if the cell's comparisons contain it."""
        others = {self.starts[mate] for mates in self.mates if cell in mates for mate in mates}
        return self._between_starts if len(others) > 1 else 0.0

    @property
    def _between_starts(self) -> float:
        return 0.0 if self.found.start is None else self.found.start.value

    def forecast(self, done: int, most: int) -> Forecast:
        """The forecast of the run after `done` blocks; the plan has `most` blocks."""
        spread = self.found.trial
        ends = (spread.low, spread.high)
        low, high = (end / spread.value if spread.value else 1.0 for end in ends)
        blocks = self._blocks(1.0, most)
        lengths = self.shares()
        seconds = sum(
            max(0, min(most, wanted) - done)
            * (self.workload.shortened(lengths.get(cell, 1.0)).trial_seconds + self.overhead_s)
            for cell, wanted in blocks.items()
        )
        fewest = max(self._blocks(low, most).values())
        return Forecast(
            blocks=min(most, max(blocks.values())),
            low=min(most, fewest),
            high=min(most, max(self._blocks(high, most).values())),
            seconds=seconds,
            settles=max(blocks.values()) <= most,
            may_settle=fewest <= most,
        )

    def _blocks(self, times: float, most: int) -> dict[str, int]:
        """The blocks that each cell needs at N times the variance.

        Above `most`, the plan has too few.
        """
        lengths = self.shares()
        needed = dict.fromkeys(self.logs, self.stopping.at_least)
        for mates in self.mates:
            pairs = list(self._compared(mates))
            for a, b in pairs:
                noise = sum(
                    self.between
                    + self.within.get(cell, 0.0) / self._seconds(lengths.get(cell, 1.0))
                    for cell in (a, b)
                )
                if self.starts[a] != self.starts[b]:
                    noise += 2 * self._between_starts
                wanted = self._wanted(a, b, math.sqrt(times * noise), len(pairs), most)
                for cell in (a, b):
                    needed[cell] = max(needed[cell], wanted)
        return needed

    def _compared(self, mates: Sequence[str]) -> Iterator[tuple[str, str]]:
        """The pairs that must be settled: all, or those with the leading cell."""
        known = [cell for cell in mates if cell in self.logs]
        if not known:
            return
        first = max(known, key=lambda cell: fmean(self.logs[cell]))
        for a, b in combinations(known, 2):
            if self.stopping.answer == "ranking" or first in (a, b):
                yield a, b

    def _wanted(self, a: str, b: str, noise: float, pairs: int, most: int) -> int:
        """The fewest blocks that settle a pair: a difference is established, or excluded."""
        apart = abs(fmean(self.logs[a]) - fmean(self.logs[b]))
        room = math.log1p(self.stopping.until) - apart
        for blocks in range(self.stopping.at_least, most + 1):
            established = sequence.half_width(blocks, noise, LEVEL / pairs)
            excluded = sequence.half_width(blocks, noise, LEVEL)
            if established is not None and established < apart:
                return blocks
            if excluded is not None and excluded <= room:
                return blocks
        return most + 1

    def _seconds(self, share: float) -> float:
        return self.workload.shortened(share).capacity.measure_ms / 1000


def pilot(
    trials: Sequence[Trial],
    stopping: Stopping,
    workload: Workload,
    plan: Plan,
    baseline: Mapping[str, str],
) -> Pilot | None:
    """The noise in the trials of the first blocks; None if they show too little."""
    done = [t for t in trials if t.status == "done" and "capacity" in t.runs]
    first = [t for t in done if t.block < stopping.pilot]
    logs = _logs(first)
    starts = {cell.key: cell.deployment for cell in plan.cells}
    found = components(logs, starts) if logs else None
    within: dict[str, list[float]] = {}
    for trial in first:
        if (value := _within(trial)) is not None:
            within.setdefault(trial.cell, []).append(value)
    if found is None or not within:
        return None
    length = fmean(trial.runs["capacity"].record.seconds for trial in first)
    part = median(fmean(values) for values in within.values()) / length
    whole = found.trial.value
    levels = {cell.key: cell.factors for cell in plan.cells}
    return Pilot(
        workload=workload,
        stopping=stopping,
        found=found,
        within={cell: fmean(values) for cell, values in within.items()},
        between=max(whole - part, _LEAST_BETWEEN * whole),
        logs=logs,
        starts=starts,
        mates=[
            [key for key in levels if setting_of(levels[key], baseline) == setting]
            for setting in settings_of(levels.values(), baseline)
        ],
        overhead_s=max(OVERHEAD_S, _overhead(first, workload.shortened(SHORTEST))),
    )


def _share(within: float, between: float, workload: Workload) -> float:
    cost = OVERHEAD_S + workload.trial_seconds - workload.capacity.measure_ms / 1000
    full = workload.capacity.measure_ms / 1000
    best = math.sqrt(cost * within / between) / full if between > 0 else 1.0
    return min(1.0, max(SHORTEST, best))


def _within(trial: Trial) -> float | None:
    """The variance of the logarithm of a rate over one second, from the slices of one trial."""
    record = trial.runs["capacity"].record
    series = [rate for rate in rates(record.intervals) if rate > 0]
    if len(series) < _LEAST_SLICES:
        return None
    seconds = median(sum(i.seconds for i in each) for each in joined(record.intervals))
    return float(np.log(series).var(ddof=1)) * seconds


def _logs(trials: Sequence[Trial]) -> dict[str, list[float]]:
    """The logarithms of the rates of the cells that have one in every block."""
    found: dict[str, dict[int, float]] = {}
    for trial in trials:
        record = trial.runs["capacity"].record
        if record.outcomes.completed and record.seconds:
            rate = record.outcomes.completed / record.seconds
            found.setdefault(trial.cell, {})[trial.block] = math.log(rate)
    blocks = sorted({trial.block for trial in trials})
    return {
        cell: [values[block] for block in blocks]
        for cell, values in found.items()
        if len(values) == len(blocks)
    }


def _overhead(trials: Sequence[Trial], workload: Workload) -> float:
    """The mean time of a trial beside its windows, including starts of servers; in seconds."""
    return (seconds_apart(trials) or 0.0) - workload.trial_seconds
