"""How long a cell's trials should be, by what its first ones show. Pure.

A trial has two sources of noise: what changes within it (variance s_w^2 of a rate over one second,
so that a trial of L seconds has s_w^2 / L of it), and what changes from trial to trial (s_b^2),
against which only more trials help. Each trial costs c seconds beside its measurement. For a given
time the variance of the mean is least at L = sqrt(c s_w^2 / s_b^2) (Cochran 1977, "Sampling
Techniques", section 10.6: two-stage sampling with costs).
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median

import numpy as np

from tlslab.analysis.stats.steady_state import rates
from tlslab.model.stopping import SHORTEST, Stopping
from tlslab.model.trial import Trial
from tlslab.model.workload import Workload

# Beside its windows a trial starts runs, connects and drains, in seconds.
OVERHEAD_S = 0.4

# With fewer slices a trial says nothing of the noise within it.
_LEAST_SLICES = 3

# The noise from trial to trial is what is left when that within them is taken off: this share of
# the sum at least, since both are known from a few values only.
_LEAST_BETWEEN = 0.1


def trial_shares(
    trials: Sequence[Trial], stopping: Stopping, workload: Workload
) -> Mapping[str, float]:
    """Which share of the full windows the trials after the pilot have, by cell.

    Between SHORTEST and 1; the full length for cells of which the pilot knows nothing.
    """
    done = [t for t in trials if t.status == "done" and "capacity" in t.runs]
    pilot = [t for t in done if t.block < stopping.pilot]
    within: dict[str, list[float]] = {}
    for trial in pilot:
        if (found := _within(trial)) is not None:
            within.setdefault(trial.cell, []).append(found)
    whole = _from_block_to_block(pilot)
    if whole is None or not within:
        return {}
    length = fmean(trial.runs["capacity"].record.seconds for trial in pilot)
    part = median(fmean(found) for found in within.values()) / length
    between = max(whole - part, _LEAST_BETWEEN * whole)
    return {cell: _share(fmean(found), between, workload) for cell, found in within.items()}


def _share(within: float, between: float, workload: Workload) -> float:
    cost = OVERHEAD_S + workload.trial_seconds - workload.capacity.measure_ms / 1000
    full = workload.capacity.measure_ms / 1000
    best = math.sqrt(cost * within / between) / full if between > 0 else 1.0
    return min(1.0, max(SHORTEST, best))


def _within(trial: Trial) -> float | None:
    """The variance of the logarithm of a rate over one second, by the slices of one trial."""
    record = trial.runs["capacity"].record
    series = [rate for rate in rates(record.intervals) if rate > 0]
    if len(series) < _LEAST_SLICES:
        return None
    seconds = median(each.seconds for each in record.intervals)
    return float(np.log(series).var(ddof=1)) * seconds


def _from_block_to_block(trials: Sequence[Trial]) -> float | None:
    """The variance of the logarithm of a cell's rate from block to block, less that of all cells.

    The median over the pairs of neighbouring blocks of each cell, so that one odd trial does not
    decide it: 0.455 is the median of chi-squared with one degree of freedom.
    """
    logs: dict[int, dict[str, float]] = {}
    for trial in trials:
        record = trial.runs["capacity"].record
        if record.outcomes.completed and record.seconds:
            rate = record.outcomes.completed / record.seconds
            logs.setdefault(trial.block, {})[trial.cell] = math.log(rate)
    squares = []
    blocks = sorted(logs)
    for first, second in pairwise(blocks):
        shared = logs[first].keys() & logs[second].keys()
        if len(shared) < 2:
            continue
        steps = [logs[second][cell] - logs[first][cell] for cell in sorted(shared)]
        middle = median(steps)
        squares += [(step - middle) ** 2 / 2 for step in steps]
    return median(squares) / 0.455 if squares else None
