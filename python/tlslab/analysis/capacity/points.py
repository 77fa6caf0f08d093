"""The runs of an open loop: offered load, achieved rate, response times."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tlslab.analysis.capacity.saturation import Loaded
from tlslab.analysis.measures import Processors, client_busy, server_busy
from tlslab.analysis.stats.estimate import estimate
from tlslab.analysis.stats.latency import Distribution, needed_n, quantiles
from tlslab.model.capacity import Objective
from tlslab.model.estimate import Estimate
from tlslab.model.run_faults import POOL_OBJECTIONS
from tlslab.model.trial import Trial, TrialRun

# With a larger share of failed connections a server did not keep up.
FAILURES_LIMIT = 0.001

# The share of the offered load that must be achieved (the engine's own limit).
ACHIEVED = 0.99

# The generator of an open loop is late long before it is busy all the time (the engine's own
# limit).
BUSY_LIMIT = 0.8

# The largest part of the 99th percentile of response times that late starts may make up. Beyond
# this, the time is the generator's, not the server's.
LATE_SHARE = 0.1

PointVerdict = Literal["kept up", "overloaded", "generator late", "invalid"]


@dataclass(frozen=True)
class Point:
    """One run at one fraction of the maximum; rates in connections/s, times in milliseconds.

    `failures` is the share of ended connections; busy times are shares of the processors' time.
    """

    fraction: float
    repetition: int
    offered: float
    achieved: float
    completed: float
    response: Distribution
    service: Distribution
    blocked: int
    arrivals: int
    concurrency: float
    failures: float
    client_busy: float
    server_busy: float | None
    verdict: PointVerdict
    run: TrialRun

    @property
    def kept(self) -> bool:
        """Whether the server kept up with the load."""
        return self.verdict == "kept up"

    def loaded(self, objective: Objective) -> Loaded | None:
        """The input for judging an objective; None if the run has too few values."""
        if self.verdict in ("invalid", "generator late"):
            return None
        if self.response.n == 0:
            return Loaded(self.offered, 0.0, kept=False)
        if objective.quantile == "mean":
            return Loaded(self.offered, self.response.mean(), self.kept)
        p = int(objective.quantile[1:]) / 100
        if self.response.n < needed_n(p) and self.kept:
            return None
        return Loaded(self.offered, self.response.quantile(p), self.kept)


def point(trial: Trial, processors: Processors, shared: bool) -> Point | None:
    """The point of a finished trial of an open loop; None for any other trial.

    `shared`: the generator shares a processor with the server.
    """
    run = trial.runs.get("load")
    if trial.status != "done" or run is None or run.record.open_loop is None:
        return None
    if "fraction" not in trial.factors:
        return None
    record, loop = run.record, run.record.open_loop
    outcomes = record.outcomes
    ended = outcomes.completed + outcomes.failures + outcomes.mismatches
    found = Point(
        fraction=float(trial.factors["fraction"]),
        repetition=int(trial.factors["repetition"]),
        offered=float(trial.factors["rate"]),
        achieved=loop.achieved_per_s,
        completed=outcomes.completed / record.seconds if record.seconds else 0.0,
        response=_times(run, "response"),
        service=_times(run, "service"),
        blocked=loop.blocked,
        arrivals=loop.arrivals,
        concurrency=record.concurrency,
        failures=(outcomes.failures + outcomes.mismatches) / ended if ended else 1.0,
        client_busy=client_busy(run),
        server_busy=server_busy(run, processors),
        verdict="kept up",
        run=run,
    )
    return Point(**{**vars(found), "verdict": _verdict(found, shared)})


def _times(run: TrialRun, name: str) -> Distribution:
    encoded = run.record.load_histograms.get(name)
    return Distribution.decode(encoded) if encoded else Distribution.merge([])


def _verdict(found: Point, shared: bool) -> PointVerdict:
    """The side that could not keep up, if any.

    Arrivals without a free slot count against the server, which held the slots. Arrivals that were
    late although slots were free count against the generator. If the generator shares a processor
    with the server, the cause of late arrivals is unknown, and they count against the server.
    """
    codes = {verdict.code for verdict in found.run.record.verdicts}
    wrong = codes & {"interrupted", "littles_law", *POOL_OBJECTIONS}
    if wrong or not found.run.record.outcomes.balanced:
        return "invalid"
    if found.blocked or found.failures > FAILURES_LIMIT:
        return "overloaded"
    behind = found.achieved < ACHIEVED * found.offered and "rate_not_achieved" in codes
    behind = behind or found.client_busy >= BUSY_LIMIT
    if not shared and (behind or _late_share(found) > LATE_SHARE):
        return "generator late"
    # A queue that grows evenly ends at twice its mean length.
    unended = found.arrivals - found.run.record.outcomes.completed
    growing = unended > max((1 - ACHIEVED) * found.arrivals, 1.5 * found.concurrency)
    return "overloaded" if behind or growing else "kept up"


def _late_share(found: Point) -> float:
    """The part of the 99th percentile of response times that late starts may make up.

    0 without any.
    """
    delay, response = _times(found.run, "start_delay"), found.response
    if not delay.n or not response.n:
        return 0.0
    return delay.quantile(0.99) / max(response.quantile(0.99), 1e-6)


def judged(points: Sequence[Point]) -> list[Point]:
    """The runs at loads without an invalid or late run: these say something about the server."""
    silent = {point.fraction for point in points if point.verdict in ("invalid", "generator late")}
    return [point for point in points if point.fraction not in silent]


def by_fraction(points: Sequence[Point]) -> dict[float, list[Point]]:
    """Points by the fraction of the maximum, ascending."""
    fractions = sorted({point.fraction for point in points})
    return {f: [point for point in points if point.fraction == f] for f in fractions}


def by_repetition(points: Sequence[Point]) -> list[list[Point]]:
    """Points by repetition: each is a series over all loads."""
    numbers = sorted({point.repetition for point in points})
    return [[point for point in points if point.repetition == n] for n in numbers]


def time_estimates(
    points: Sequence[Point], name: str
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """`response_ms_mean`, `response_ms_p50` and so on, over the points of one load.

    Also returns the reasons for quantiles that are not measurable. `name` is `response` or
    `service`.
    """
    parts = [part for each in points if (part := _part(each, name)).n]
    if not parts:
        return {}, {}
    found, missing = quantiles(f"{name}_ms", parts)
    mean = estimate([part.mean() for part in parts], "ms")
    return {f"{name}_ms_mean": mean, **found}, missing


def _part(point: Point, name: str) -> Distribution:
    return point.response if name == "response" else point.service
