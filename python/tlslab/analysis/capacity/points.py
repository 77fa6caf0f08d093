"""The runs of an open loop: offered load, achieved rate, response times."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlslab.analysis.measures import Processors, client_busy, server_busy
from tlslab.analysis.stats.estimate import estimate
from tlslab.analysis.stats.latency import quantiles
from tlslab.domain.distribution import Distribution
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import MILLISECONDS, RESPONSE, statistic
from tlslab.domain.loads import LoadRun, load_run, times_of
from tlslab.domain.run_record import failures, mismatches
from tlslab.domain.trial import Trial, TrialRun


@dataclass(frozen=True)
class Point(LoadRun):
    """One run at one fraction of the maximum; rates in connections/s, times in milliseconds.

    `failures` is the share of ended connections; busy times are shares of the processors' time.
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
    run: TrialRun

    @property
    def kept(self) -> bool:
        """Whether the server kept up with the load."""
        return self.verdict == "kept up"


def point(trial: Trial, processors: Processors, shared: bool) -> Point | None:
    """The point of a finished trial of an open loop; None for any other trial.

    `shared`: the generator shares a processor with the server.
    """
    found = load_run(trial, shared)
    if found is None:
        return None
    run = trial.runs["load"]
    record, loop = run.record, run.record.open_loop
    assert loop is not None
    outcomes = record.outcomes
    ended = outcomes.completed + failures(outcomes) + mismatches(outcomes)
    return Point(
        **vars(found),
        achieved=loop.achieved_per_s,
        completed=outcomes.completed / record.seconds if record.seconds else 0.0,
        service=times_of(record, "service"),
        blocked=loop.blocked,
        arrivals=loop.arrivals,
        concurrency=record.concurrency,
        failures=(failures(outcomes) + mismatches(outcomes)) / ended if ended else 1.0,
        client_busy=client_busy(run),
        server_busy=server_busy(run, processors),
        run=run,
    )


def judged(points: Sequence[Point]) -> list[Point]:
    """The runs at loads without an invalid or late run: these say something about the server."""
    silent = {point.fraction for point in points if point.verdict in ("invalid", "generator late")}
    return [point for point in points if point.fraction not in silent]


def by_fraction(points: Sequence[Point]) -> dict[float, list[Point]]:
    """Points by the fraction of the maximum, ascending."""
    fractions = sorted({point.fraction for point in points})
    return {f: [point for point in points if point.fraction == f] for f in fractions}


def time_estimates(
    points: Sequence[Point], time: str
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """`response_ms_mean`, `response_ms_p50` and so on, over the points of one load.

    Also returns the reasons for quantiles that are not measurable. `time`: response or service
    time.
    """
    parts = [part for each in points if (part := _part(each, time)).n]
    if not parts:
        return {}, {}
    found, missing = quantiles(time, parts)
    mean = estimate([part.mean() for part in parts], MILLISECONDS)
    return {statistic(time, "mean"): mean, **found}, missing


def _part(point: Point, time: str) -> Distribution:
    return point.response if time == RESPONSE else point.service
