"""The open loops of a cell: each run, and the capacity that all of them show.

`domain.loads` judges the loads; the planner follows the same judgement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tlslab.analysis.measures import Processors, client_busy, server_busy
from tlslab.analysis.stats.estimate import estimate
from tlslab.analysis.stats.latency import QUANTILES, quantiles
from tlslab.contract.record import Users
from tlslab.domain.capacity import CONFIRMING, Objective
from tlslab.domain.distribution import Distribution
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    MILLISECONDS,
    PER_SECOND,
    RESPONSE,
    SHARE,
    USERS_ANSWERED,
    USERS_GAVE_UP,
    quantile,
    statistic,
)
from tlslab.domain.loads import (
    STEP,
    Load,
    LoadRun,
    LoadVerdict,
    Outcome,
    bracket,
    load_run,
    loads_of,
    times_of,
)
from tlslab.domain.run_record import decided, failures, mismatches
from tlslab.domain.trial import Trial, TrialRun
from tlslab.domain.wording import counted


@dataclass(frozen=True)
class LoadPoint(LoadRun):
    """One run at one fraction of the maximum; rates in connections/s, times in milliseconds.

    `failures` is the share of ended connections; busy times are shares of the processors' time.
    `users`: how those with patience fared.
    """

    achieved: float
    completed: float
    service: Distribution
    blocked: int
    arrivals: int
    concurrency: float
    failures: float
    client_busy: float
    server_busy: float | None
    users: Users | None
    run: TrialRun

    @property
    def kept(self) -> bool:
        """Whether the server kept up with the load."""
        return self.verdict == "kept up"


def point(trial: Trial, processors: Processors, shared: bool) -> LoadPoint | None:
    """The point of a finished trial of an open loop; None for any other trial.

    `shared`: the generator shares a processor with the server.
    """
    judged_run = load_run(trial, shared)
    if judged_run is None:
        return None
    run = trial.runs["load"]
    record, loop = run.record, run.record.open_loop
    assert loop is not None
    outcomes = record.outcomes
    ended = outcomes.completed + failures(outcomes) + mismatches(outcomes)
    return LoadPoint(
        **vars(judged_run),
        achieved=loop.achieved_per_s,
        completed=outcomes.completed / record.seconds if record.seconds else 0.0,
        service=times_of(record, "service"),
        blocked=loop.blocked,
        arrivals=loop.arrivals,
        concurrency=record.concurrency,
        failures=(failures(outcomes) + mismatches(outcomes)) / ended if ended else 1.0,
        client_busy=client_busy(run),
        server_busy=server_busy(run, processors),
        users=loop.users,
        run=run,
    )


def judged(points: Sequence[LoadPoint]) -> list[LoadPoint]:
    """The runs at loads without an invalid or late run: these say something about the server."""
    silent = {point.fraction for point in points if point.verdict in ("invalid", "generator late")}
    return [point for point in points if point.fraction not in silent]


def by_fraction(points: Sequence[LoadPoint]) -> dict[float, list[LoadPoint]]:
    """Points by the fraction of the maximum, ascending."""
    fractions = sorted({point.fraction for point in points})
    return {f: [point for point in points if point.fraction == f] for f in fractions}


def overload(
    points: Sequence[LoadPoint], objective: Objective | None
) -> tuple[float, LoadVerdict | Outcome] | None:
    """The lowest load that was not carried, or that missed the objective, in connections/s.

    With it `overloaded` or `missed`; None if there is no such load.
    """
    judged_loads = () if objective is None else loads_of(points, objective)
    missed = {load.fraction for load in judged_loads if load.outcome == "missed"}
    for fraction, group in by_fraction(points).items():
        least = min(point.offered for point in group)
        if any(point.verdict == "overloaded" for point in group):
            return least, "overloaded"
        if fraction in missed:
            return least, "missed"
    return None


def time_estimates(
    points: Sequence[LoadPoint], time: str
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """`response_ms_mean`, `response_ms_p50` and so on, over the points of one load.

    Also returns the reasons for quantiles that are not measurable. `time`: response or service
    time.
    """
    values = [point.response if time == RESPONSE else point.service for point in points]
    parts = [part for part in values if part.n]
    if not parts:
        return {}, {}
    estimates, missing = quantiles(time, parts)
    mean = estimate([part.mean() for part in parts], MILLISECONDS)
    return {statistic(time, "mean"): mean, **estimates}, missing


def user_estimates(points: Sequence[LoadPoint], steady: bool) -> dict[str, Estimate]:
    """The shares of users who gave up for good and who were answered, of one load.

    Of the users whose wait ended in a measurement; empty without patience. Unless `steady`, the
    first share is a lower bound, because users give up later than others are answered; the second
    is left out.
    """
    found = [users for p in points if (users := p.users) is not None and decided(users)]
    if not found:
        return {}
    gave_up = {USERS_GAVE_UP: estimate([u.gave_up / decided(u) for u in found], SHARE)}
    if not steady:
        return gave_up
    answered = [(u.answered_at_first + u.answered_after_retry) / decided(u) for u in found]
    return {USERS_ANSWERED: estimate(answered, SHARE), **gave_up}


def censored(points: Sequence[LoadPoint]) -> tuple[str, ...]:
    """The statistics of the response time at one load that are lower bounds.

    Users who gave up count with the time until then. The mean is too low with any of them. A
    quantile, or the end of its interval, may be if in some run they are half as many as the times
    above it.
    """
    users = [(p.users.gave_up, p.response.n) for p in points if p.users and p.response.n]
    worst = max((gave_up / n for gave_up, n in users), default=0.0)
    if not worst:
        return ()
    too_low = (q for q in QUANTILES if worst >= (1 - q / 100) / 2)
    return (statistic(RESPONSE, "mean"), *(quantile(RESPONSE, q) for q in too_low))


LoadBound = Literal["between", "at_least", "below"]


@dataclass(frozen=True)
class Capacity:
    """The highest load, in connections/s, that met an objective, below every load that missed it.

    `between`: `load` met the objective in its `n` runs, `missed` is the lowest load that did not.
    `at_least`: no load missed it; from `late` on the generator was late, which says nothing of the
    server. `below`: no load below `load` met it, `load` missed it. `above`: a load a step above
    `load` that met the objective, too; None if there is none.
    """

    load: Estimate
    bound: LoadBound
    n: int
    missed: Load | None = None
    above: Load | None = None
    late: Load | None = None

    @property
    def is_confirmed(self) -> bool:
        """Whether enough runs a step above met the objective, too: the value is a lower bound."""
        return self.above is not None and self.above.runs >= CONFIRMING


def capacity(loads: Sequence[Load]) -> Capacity | None:
    """The capacity by all loads; None if none of them shows anything.

    The value is a load that was offered: it has no interval, and is rather too low.
    """
    ends = bracket(loads)
    met = ends.own or ends.best
    if met is not None:
        method = f"the highest load that met the objective, in {counted(met.runs, 'run')}"
        if ends.own is not None:
            method = f"the highest load that met the objective, also with {STEP - 1:.0%} more"
        load = Estimate(met.offered, None, None, met.runs, PER_SECOND, method)
        bound: LoadBound = "between" if ends.missed else "at_least"
        above = ends.best if ends.own else None
        late = next((each for each in loads if each.outcome == "late"), None)
        return Capacity(load, bound, met.runs, ends.missed, above, late)
    if ends.missed is None:
        return None
    n, method = ends.missed.runs, "the lowest load that missed the objective"
    load = Estimate(ends.missed.offered, None, None, n, PER_SECOND, method)
    return Capacity(load, "below", n, ends.missed)
