"""The generators' hosts: the last second of each, and of all together."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlslab.domain.events import EngineEnded, Pace, Percentiles

# A host without a report for this many seconds is shown as silent.
SILENT_S = 3.0


@dataclass(frozen=True)
class HostNow:
    """One generator's host in its last second.

    Rates are per second, times in milliseconds; None without values. `generator`: the number of
    processors that its workers kept busy. `silent_s`: the time since its last report, 0 if in time.
    """

    name: str
    offered: float | None
    completed: float
    requests: float
    in_flight: int
    waiting: int
    p50_ms: float | None
    p99_ms: float | None
    failed: float
    generator: float | None
    silent_s: float


@dataclass(frozen=True)
class Point:
    """One second of all hosts together, `t` seconds after the start; `run` numbers the runs.

    With several hosts the percentiles are those of the host with the highest 99th: percentiles
    cannot be added.
    """

    t: float
    run: int
    offered: float | None
    completed: float
    requests: float
    in_flight: int
    p50_ms: float | None
    p99_ms: float | None
    failed: float
    server: float | None
    generator: float | None


@dataclass(frozen=True)
class Reported:
    """Two successive reports of a host in one run, and the time of the last one."""

    pace: Pace
    before: Pace | None
    at: float


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
        failed=_failed(reported),
        generator=_processors(reported),
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


def _span(reported: Reported) -> float:
    """The seconds between the two reports, or from the start of the measurement to the first."""
    return reported.pace.at_s - (reported.before.at_s if reported.before else 0.0)


def _failed(reported: Reported) -> float:
    """Connections that failed or were unexpected, per second."""
    before = reported.before.failed if reported.before else 0
    span = _span(reported)
    return (reported.pace.failed - before) / span if span > 0 else 0.0


def _processors(reported: Reported) -> float | None:
    """The number of processors that the generator's workers kept busy."""
    totals = reported.pace.totals
    span = _span(reported)
    if totals is None or span <= 0:
        return None
    before = reported.before.totals if reported.before else None
    used = totals.cpu.total_us - (before.cpu.total_us if before else 0)
    return used / 1e6 / span
