"""A made-up run for observation: seconds of load of one or several hosts, and their totals."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tlslab.contract.record import CpuTime
from tlslab.domain import events
from tlslab.domain.plan import Plan
from tlslab.domain.totals import Buckets, Totals
from tlslab.experiment import load, make_plan
from tlslab.report.live.state import State

BOUNDS = (0.001, 0.01, 0.1, 1.0)


def buckets(count: int, seconds: float = 0.004) -> Buckets:
    """N times of 4 ms."""
    return Buckets(BOUNDS, (0, count, 0, 0, 0), count * seconds)


def totals(completed: int, failed: int = 0, in_flight: int = 0, open_loop: bool = True) -> Totals:
    """Totals whose accounting is balanced."""
    arrivals = completed + failed + in_flight
    return Totals(
        arrivals=arrivals,
        completed=completed,
        failed={"reset": failed} if failed else {},
        unexpected=0,
        requests=completed,
        in_flight=in_flight,
        handshake=buckets(completed, 0.002),
        service=buckets(completed),
        exchange=buckets(completed, 0.001),
        due=arrivals if open_loop else None,
        response=buckets(completed) if open_loop else None,
        cpu=CpuTime(300 * completed, 100 * completed),
    )


def pace(at_s: float, so_far: Totals, rate: float = 100.0, host: str = "") -> events.Pace:
    """One second of a run, with these totals at its end."""
    times = events.Percentiles(1.5, 6.25)
    return events.Pace(
        connections_per_s=rate,
        requests_per_s=rate,
        in_flight=so_far.in_flight,
        failed=so_far.troubled,
        service_p50_ms=times.p50_ms,
        service_p99_ms=times.p99_ms,
        at_s=at_s,
        left_s=30.0 - at_s,
        offered_per_s=None if so_far.due is None else 1.05 * rate,
        response=None if so_far.due is None else times,
        exchange=times,
        host=host,
        totals=so_far,
        server_processors=0.83,
    )


@dataclass
class Clock:
    """A clock that a test sets."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Watched:
    """A state that follows a made-up run."""

    clock: Clock = field(default_factory=Clock)
    state: State = field(init=False)

    def __post_init__(self) -> None:
        self.state = State("groups", "bed", self.clock)

    def start(self, folder: str = "runs/groups") -> None:
        """Starts the run, and its first trial."""
        plan: Plan = make_plan(load("groups", "quick"), 7)
        self.state.take(events.RunStarted(plan, "nginx", Path(folder), 0, 4.0))
        self.state.take(events.TrialStarted(0, plan.trials[0].cell))

    def seconds(self, paces: Sequence[events.Pace], cell: str = "X25519") -> None:
        """Consecutive seconds of a run."""
        for each in paces:
            self.clock.now += 1
            self.state.take(events.Rate(cell, "capacity", each))
