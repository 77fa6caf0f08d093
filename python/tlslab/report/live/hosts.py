"""The generators' hosts: the last second of each and of all together, and their totals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tlslab.domain.events import EngineEnded, Pace, Percentiles
from tlslab.domain.run_record import total_us
from tlslab.domain.totals import Totals

# A host without a report for this many seconds is shown as silent.
SILENT_S = 3.0


@dataclass(frozen=True, kw_only=True)
class Second:
    """One second of load.

    Rates are per second, times in milliseconds; None without values. `generator`: the number of
    processors that the workers of the generators kept busy.
    """

    offered: float | None
    completed: float
    requests: float
    in_flight: int
    p50_ms: float | None
    p99_ms: float | None
    failed: float
    generator: float | None


@dataclass(frozen=True, kw_only=True)
class HostNow(Second):
    """One generator's host in its last second.

    `silent_s`: the time since its last report, 0 if in time.
    """

    name: str
    waiting: int
    silent_s: float


@dataclass(frozen=True, kw_only=True)
class Point(Second):
    """One second of all hosts together, `t` seconds after the start; `run` numbers the runs.

    With several hosts the percentiles are those of the host with the highest 99th: percentiles
    cannot be added. `server`: the number of processors that the server kept busy.
    """

    t: float
    run: int
    server: float | None


@dataclass(frozen=True)
class Reported:
    """Two successive reports of a host in one run, and the time of the last one."""

    pace: Pace
    before: Pace | None
    at: float

    @property
    def _span(self) -> float:
        """The seconds between the two reports, or from the start to the first."""
        return self.pace.at_s - (self.before.at_s if self.before else 0.0)

    @property
    def failed(self) -> float:
        """Connections that failed or were unexpected, per second."""
        before = self.before.failed if self.before else 0
        return (self.pace.failed - before) / self._span if self._span > 0 else 0.0

    @property
    def generator(self) -> float | None:
        """The number of processors that the generator's workers kept busy."""
        if self.pace.totals is None or self._span <= 0:
            return None
        before = self.before.totals if self.before else None
        used = total_us(self.pace.totals.cpu) - (total_us(before.cpu) if before else 0)
        return used / 1e6 / self._span


def times_of(pace: Pace) -> tuple[str, Percentiles | None]:
    """The displayed times: response times in an open loop, else service or request times."""
    if pace.offered_per_s is not None:
        return "response", pace.response
    if pace.service is not None or pace.exchange is None:
        return "service", pace.service
    return "request", pace.exchange


def whole_run(ended: EngineEnded) -> Pace | None:
    """A whole run as one second, without percentiles; None if nothing was measured."""
    totals, seconds = ended.totals, ended.at_s
    if totals is None or seconds <= 0:
        return None
    return Pace(
        connections_per_s=totals.completed / seconds,
        requests_per_s=totals.requests / seconds,
        in_flight=totals.in_flight,
        failed=totals.troubled,
        service_p50_ms=None,
        service_p99_ms=None,
        at_s=seconds,
        offered_per_s=None if totals.due is None else totals.due / seconds,
        host=ended.host,
        totals=totals,
    )


def host_now(name: str, reported: Reported, now: float) -> HostNow:
    """The displayed values of a host."""
    pace = reported.pace
    _, times = times_of(pace)
    silent = now - reported.at
    return HostNow(
        name=name,
        offered=pace.offered_per_s,
        completed=pace.connections_per_s,
        requests=pace.requests_per_s,
        in_flight=pace.in_flight,
        waiting=pace.waiting,
        p50_ms=None if times is None else times.p50_ms,
        p99_ms=None if times is None else times.p99_ms,
        failed=reported.failed,
        generator=reported.generator,
        silent_s=silent if silent >= SILENT_S else 0.0,
    )


def together(hosts: Sequence[HostNow], t: float, run: int, server: float | None) -> Point:
    """All hosts as one, at this time in this run; at least one host."""
    offered = [host.offered for host in hosts if host.offered is not None]
    busy = [host.generator for host in hosts if host.generator is not None]
    slowest = max(hosts, key=lambda host: host.p99_ms or 0.0)
    return Point(
        t=t,
        run=run,
        offered=sum(offered) if offered else None,
        completed=sum(host.completed for host in hosts),
        requests=sum(host.requests for host in hosts),
        in_flight=sum(host.in_flight for host in hosts),
        p50_ms=slowest.p50_ms,
        p99_ms=slowest.p99_ms,
        failed=sum(host.failed for host in hosts),
        server=server,
        generator=sum(busy) if busy else None,
    )


@dataclass(frozen=True, order=True)
class Key:
    """The identity of a series: a generator's host, a cell, and the kind of run."""

    host: str
    cell: str
    run: str


class Series:
    """The runs of one key, finished and current, added up."""

    def __init__(self) -> None:
        self._over: Totals | None = None
        self._running: Totals | None = None
        self._at_s = 0.0

    def follow(self, pace: Pace) -> None:
        """Adds a second of a run; a time before the last one belongs to a new run."""
        if pace.at_s < self._at_s:
            self.fold()
        self._at_s = pace.at_s
        self._running = pace.totals or self._running

    def end(self, ended: EngineEnded) -> None:
        """Ends the current run, with its final totals."""
        self._running = ended.totals or self._running
        self.fold()

    def fold(self) -> None:
        """Adds the current run, by its latest totals, to the finished runs."""
        if self._running is not None:
            last = replace(self._running, in_flight=0)
            self._over = last if self._over is None else self._over.plus(last)
        self._running = None
        self._at_s = 0.0

    @property
    def totals(self) -> Totals | None:
        """All runs together; None if none has reported anything."""
        if self._over is None or self._running is None:
            return self._running or self._over
        return self._over.plus(self._running)
