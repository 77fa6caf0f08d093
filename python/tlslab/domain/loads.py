"""The judgement of a load of an open loop, and the highest load that meets an objective.

A load meets an objective if the server kept up in each of its runs, and the response times of each
run with enough values, and of all runs together, meet the objective. The answer is the highest load
that meets it, also with a STEP more, below every load that does not and every load that cannot be
judged because of a late or invalid run. It is confirmed by a run at that load and CONFIRMING runs
at the load above, on fresh servers if the plan has these.

Pure. Planning (`experiment.next_load`) and analysis go by the same judgement.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tlslab.contract.record import OpenLoop, RunRecord
from tlslab.domain.capacity import Objective
from tlslab.domain.distribution import Distribution, needed_n
from tlslab.domain.run_faults import POOL_OBJECTIONS, STALLED
from tlslab.domain.run_record import (
    STARVED,
    failures,
    generator_busy,
    is_balanced,
    load_histograms,
    mismatches,
)
from tlslab.domain.trial import Trial

# With a larger share of failed connections a server did not keep up.
FAILURES_LIMIT = 0.001

# The share of the arrivals that must be started (the engine's own limit). The same share of
# unended arrivals is not a queue yet: connections are in flight at any instant.
ACHIEVED = 0.99

# With a larger share of unended arrivals a server did not keep up, however long its queue was
# before.
UNENDED_LIMIT = 0.05

# The generator of an open loop is late long before it is busy all the time (the engine's own
# limit).
BUSY_LIMIT = 0.8

# The largest part of the 99th percentile of response times that late starts may make up. Beyond
# this, the time is the generator's, not the server's.
LATE_SHARE = 0.1

# A load 1/SCALES above what the server sustains makes a queue as long as the limit of an objective
# within SCALES times that limit. A shorter run, or one below LEAST_S, cannot show that a load meets
# the objective: a run of LEAST_S has what the server does about once a second.
SCALES = 10
LEAST_S = 3.0

# The ratio of neighbouring loads in the search.
STEP: float = 1.05

# Fractions are rounded: neighbours may lie further apart than a STEP by this factor.
_ROUNDED = 1.01

LoadVerdict = Literal["kept up", "overloaded", "generator late", "invalid"]

# `late`: the generator was late in a run, or a run is invalid. `short`: the runs are too short, or
# have too few values, to show that the objective is met.
Outcome = Literal["met", "missed", "late", "short"]

# The outcomes of a load above which no load is the answer.
BARRING = ("missed", "late")


@dataclass(frozen=True)
class LoadRun:
    """A run of an open loop at a fraction of the maximum; `offered` in connections/s.

    `in_full`: every connection began and ended as offered. Where the generator was late, it only
    began some of them later than they were due, and their response times include the delay.
    """

    fraction: float
    offered: float
    seconds: float
    response: Distribution
    verdict: LoadVerdict
    in_full: bool


@dataclass(frozen=True)
class Load:
    """A load by all its runs: `time_ms` is the longest time to which the objective applies.

    It is that of all runs together, or of a run with enough values. None if a run does not say
    anything of the server, or none has values.
    """

    fraction: float
    offered: float
    runs: int
    time_ms: float | None
    outcome: Outcome


def load_run(trial: Trial, shared: bool) -> LoadRun | None:
    """The run of a finished trial of an open loop; None for any other trial.

    `shared`: the generator shares a processor with the server.
    """
    run = trial.runs.get("load")
    if trial.status != "done" or run is None or "fraction" not in trial.factors:
        return None
    record = run.record
    if record.open_loop is None:
        return None
    offered, loop = float(trial.factors["rate"]), record.open_loop
    return LoadRun(
        fraction=float(trial.factors["fraction"]),
        offered=offered,
        seconds=record.seconds,
        response=times_of(record, "response"),
        verdict=load_verdict(record, loop, offered, shared),
        in_full=not (_is_behind(record, loop, offered) or _is_growing(record, loop)),
    )


def times_of(record: RunRecord, name: str) -> Distribution:
    """The times of the client that carried a load; empty if the record has none."""
    encoded = load_histograms(record).get(name)
    return _decoded(encoded) if encoded else Distribution.merge([])


@lru_cache(maxsize=1024)
def _decoded(encoded: str) -> Distribution:
    """Planning reads all trials of a cell before each of its steps."""
    return Distribution.decode(encoded)


def load_verdict(record: RunRecord, loop: OpenLoop, offered: float, shared: bool) -> LoadVerdict:
    """The side that could not keep up, if any.

    Arrivals without a free slot count against the server, which held the slots. Arrivals that were
    late although slots were free count against the generator. If the generator shares a processor
    with the server, the cause of late arrivals is unknown, and they count against the server.
    """
    codes = {verdict.code for verdict in record.verdicts}
    outcomes = record.outcomes
    if codes & {"interrupted", "littles_law", *POOL_OBJECTIONS} or not is_balanced(outcomes):
        return "invalid"
    # A user who gave up has no answer, however short an objective finds the wait.
    troubled = failures(outcomes) + mismatches(outcomes) + outcomes.abandoned
    if STALLED in codes or loop.blocked:
        return "overloaded"
    if troubled > FAILURES_LIMIT * (outcomes.completed + troubled):
        return "overloaded"
    behind = _is_behind(record, loop, offered)
    if not shared and (behind or _late_share(record) > LATE_SHARE):
        return "generator late"
    return "overloaded" if behind or _is_growing(record, loop) else "kept up"


def _is_behind(record: RunRecord, loop: OpenLoop, offered: float) -> bool:
    """Whether the generator did not offer the load: it was too slow, busy, or did not run."""
    codes = {verdict.code for verdict in record.verdicts}
    is_slow = loop.achieved_per_s < ACHIEVED * offered and "rate_not_achieved" in codes
    return is_slow or min(1.0, generator_busy(record)) >= BUSY_LIMIT or STARVED in codes


def _is_growing(record: RunRecord, loop: OpenLoop) -> bool:
    """Whether so many arrivals did not end that they were a growing queue.

    A queue that grows evenly is longer at its end than on average; one that does not grow ends at
    its mean, less those in flight when the measurement began.
    """
    unended = loop.arrivals - record.outcomes.completed
    usual = min(record.concurrency, UNENDED_LIMIT * loop.arrivals)
    return unended > max((1 - ACHIEVED) * loop.arrivals, usual)


def _late_share(record: RunRecord) -> float:
    """The part of the 99th percentile of response times that late starts may make up.

    0 without any.
    """
    delay, response = times_of(record, "start_delay"), times_of(record, "response")
    if not delay.n or not response.n:
        return 0.0
    return delay.quantile(0.99) / max(response.quantile(0.99), 1e-6)


def loads_of(runs: Iterable[LoadRun], objective: Objective) -> list[Load]:
    """Each load by all its runs, ascending."""
    by_fraction: dict[float, list[LoadRun]] = {}
    for run in runs:
        by_fraction.setdefault(run.fraction, []).append(run)
    return [_load(group, objective) for _, group in sorted(by_fraction.items())]


def _load(runs: Sequence[LoadRun], objective: Objective) -> Load:
    fraction, offered = runs[0].fraction, runs[0].offered
    whole = Distribution.merge([run.response for run in runs])
    least = least_values(objective)
    deciding = [whole, *(run.response for run in runs if run.response.n >= least)]
    time_ms = max(_time(each, objective) for each in deciding) if whole.n else None
    verdicts = {run.verdict for run in runs}
    if "overloaded" in verdicts:
        return Load(fraction, offered, len(runs), time_ms, "missed")
    # Late starts only make response times longer: the load may be met in spite of them.
    is_late = "generator late" in verdicts
    is_offered = all(run.in_full for run in runs if run.verdict == "generator late")
    is_known = is_offered and time_ms is not None and time_ms < objective.limit_ms
    if "invalid" in verdicts or (is_late and not is_known):
        return Load(fraction, offered, len(runs), None, "late")
    if time_ms is None or whole.n < least:
        return Load(fraction, offered, len(runs), time_ms, "short")
    if time_ms >= objective.limit_ms:
        return Load(fraction, offered, len(runs), time_ms, "missed")
    is_long = min(run.seconds for run in runs) >= _ROUNDED**-1 * long_enough_s(objective)
    return Load(fraction, offered, len(runs), time_ms, "met" if is_long else "short")


def _time(whole: Distribution, objective: Objective) -> float:
    if objective.quantile == "mean":
        return whole.mean()
    return whole.quantile(int(objective.quantile[1:]) / 100)


def least_values(objective: Objective) -> int:
    """The number of values without which nothing is said of the objective's time."""
    return 1 if objective.quantile == "mean" else needed_n(int(objective.quantile[1:]) / 100)


def long_enough_s(objective: Objective) -> float:
    """The length from which on a run can show that a load meets an objective, in seconds."""
    return max(LEAST_S, SCALES * objective.limit_ms / 1000)


@dataclass(frozen=True)
class Bracket:
    """What loads show of an objective: `best` met it, below every load that missed it or was late.

    `missed` is the lowest load that missed the objective. `own` met it a step below `best`.
    """

    best: Load | None
    own: Load | None
    missed: Load | None


def bracket(loads: Iterable[Load]) -> Bracket:
    """The loads that enclose the highest that meets the objective."""
    listed = list(loads)
    missed = min((e for e in listed if e.outcome == "missed"), key=_offered, default=None)
    barred = (each.offered for each in listed if each.outcome in BARRING)
    end = min(barred, default=math.inf)
    met = [each for each in listed if each.outcome == "met" and each.offered < end]
    best = max(met, key=_offered, default=None)
    own = (each for each in met if best is not None and is_step_below(each.offered, best.offered))
    return Bracket(best, max(own, key=_offered, default=None), missed)


def is_step_below(low: float, high: float) -> bool:
    """Whether a load is a step below another, and not two.

    A load of the experiment's own lies between two of the search, and has the lower one below it.
    """
    return high / math.pow(STEP, 1.85) <= low <= high / STEP * _ROUNDED


def _offered(load: Load) -> float:
    return load.offered
