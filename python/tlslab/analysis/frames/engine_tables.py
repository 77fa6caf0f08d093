"""The runs of the engine as tables: totals, slices, counted times, generators."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from tlslab.analysis.frames.frame import Column, Field, Frame, field, make_frame
from tlslab.analysis.frames.rows import EngineRun, engine_runs, run_fields
from tlslab.contract.record import (
    CpuTime,
    Facts,
    HostPart,
    Interval,
    Outcomes,
    RunRecord,
    TimeSummary,
)
from tlslab.domain.distribution import Distribution
from tlslab.domain.estimates import CONNECTIONS, SERVER_MEMORY
from tlslab.domain.run import RunContents
from tlslab.domain.run_record import failures, load_histograms, load_summaries, mismatches

Row = TypeVar("Row")

# The quantiles of each histogram; the table `histograms` has the rest.
_QUANTILES = ("p50_ms", "p90_ms", "p99_ms")


def runs(contents: RunContents) -> Frame:
    """A row for each run of the engine; rates are counts divided by `seconds`."""
    rows = list(engine_runs(contents))
    names = dict.fromkeys(name for row in rows for name in load_summaries(row.run.record))
    fields = [*run_fields(contents), *_RUN_FIELDS, *_negotiated(), *_times(list(names))]
    return make_frame("runs", fields, rows)


def _record(row: EngineRun) -> RunRecord:
    return row.run.record


def _per_s(row: EngineRun) -> float | None:
    record = row.run.record
    return record.outcomes.completed / record.seconds if record.seconds > 0 else None


def _run_outcomes(row: EngineRun) -> Outcomes:
    return row.run.record.outcomes


def _run_cpu(row: EngineRun) -> CpuTime:
    return row.run.record.cpu


def _outcomes(read: Callable[[Row], Outcomes]) -> Iterator[Field[Row]]:
    """What became of the connections."""
    found: tuple[tuple[str, str, Callable[[Outcomes], int]], ...] = (
        ("attempts", "connections", lambda o: o.attempts),
        ("completed", "connections", lambda o: o.completed),
        ("failed", "connections", failures),
        (
            "unexpected", "connections that negotiated something else than was asked",
            mismatches,
        ),
        (
            "in_flight_at_stop", "connections that the end of the measurement cut off",
            lambda o: o.in_flight_at_stop,
        ),
        (
            "lost_with_host", "connections in flight on a generator that was lost",
            lambda o: o.lost_with_host,
        ),
    )  # fmt: skip

    def counted(count: Callable[[Outcomes], int]) -> Callable[[Row], int]:
        return lambda row: count(read(row))

    for name, about, count in found:
        yield field(name, "integer", "", about, counted(count))


def _client(read: Callable[[Row], CpuTime | None]) -> Iterator[Field[Row]]:
    """The processor time of the generator's workers; None of a lost generator."""

    def part(name: str) -> Callable[[Row], int | None]:
        return lambda row: getattr(read(row), name, None)

    about = "processor time of the generator's workers, program"
    yield field("client_user_us", "integer", "us", about, part("user_us"))
    yield field("client_system_us", "integer", "us", "the same in the kernel", part("system_us"))


_RUN_FIELDS: tuple[Field[EngineRun], ...] = (
    field("seconds", "number", "s", "length of the measurement", lambda r: _record(r).seconds),
    field(CONNECTIONS, "number", "1/s", "completed connections per second", _per_s),
    *_outcomes(_run_outcomes),
    field(
        "hosts", "integer", "", "generators that made the load",
        lambda r: max(1, len(_record(r).hosts)),
    ),
    field("requests", "integer", "", "answered requests", lambda r: _record(r).requests),
    field(
        "concurrency", "number", "", "mean number of connections in flight",
        lambda r: _record(r).concurrency,
    ),
    field(
        "offered_per_s", "number", "1/s", "arrivals of an open loop",
        lambda r: loop.offered_per_s if (loop := _record(r).open_loop) else None,
    ),
    *_client(_run_cpu),
    field(
        "server_user_us", "integer", "us", "the server's processor time, program",
        lambda r: r.run.server.user_us if r.run.server else None,
    ),
    field(
        "server_system_us", "integer", "us", "the same in the kernel",
        lambda r: r.run.server.system_us if r.run.server else None,
    ),
    field(
        "server_seconds", "number", "s", "time over which the server's was taken",
        lambda r: r.run.server.seconds if r.run.server else None,
    ),
    field(
        "server_source", "text", "", "where the server's processor time is from",
        lambda r: r.run.server.source if r.run.server else None,
    ),
    field(
        SERVER_MEMORY, "integer", "B", "the server's memory at the end",
        lambda r: r.run.server.memory_bytes if r.run.server else None,
    ),
    field(
        "handshake_sent_bytes", "integer", "B", "client's bytes up to the handshake's end, all",
        lambda r: _record(r).bytes.handshake_sent,
    ),
    field(
        "handshake_received_bytes", "integer", "B", "server's bytes up to the handshake's end, all",
        lambda r: _record(r).bytes.handshake_received,
    ),
    field("sent_bytes", "integer", "B", "client's bytes in all", lambda r: _record(r).bytes.sent),
    field(
        "received_bytes", "integer", "B", "server's bytes in all",
        lambda r: _record(r).bytes.received,
    ),
    field("backend", "text", "", "the client's TLS library", lambda r: _record(r).backend),
    field(
        "verdicts", "text", "", "codes of what the engine objects to",
        lambda r: " ".join(verdict.code for verdict in _record(r).verdicts),
    ),
)  # fmt: skip


def _negotiated() -> Iterator[Field[EngineRun]]:
    """The facts that most connections negotiated."""

    def most(row: EngineRun) -> Facts | None:
        return max(row.run.record.facts, key=lambda facts: facts.count, default=None)

    def of(name: str) -> Field[EngineRun]:
        about = f"what most connections negotiated: {name}"
        return Field(
            Column(f"negotiated_{name}", "text", "", about),
            lambda row: getattr(most(row), name, None),
        )

    for name in ("tls", "suite", "group", "signature_scheme", "kind", "alpn"):
        yield of(name)


def _times(names: list[str]) -> Iterator[Field[EngineRun]]:
    def of(name: str, quantile: str) -> Field[EngineRun]:
        def read(row: EngineRun) -> float | None:
            found: TimeSummary | None = load_summaries(row.run.record).get(name)
            return getattr(found, quantile) if found is not None and found.n else None

        return Field(Column(f"{name}_{quantile}", "number", "ms", f"time of {name}"), read)

    for name in names:
        for quantile in _QUANTILES:
            yield of(name, quantile)


@dataclass(frozen=True)
class _Slice(EngineRun):
    interval: Interval


def _slice_cpu(row: _Slice) -> CpuTime:
    return row.interval.cpu


def seconds(contents: RunContents) -> Frame:
    """A row for each slice of each run's measurement; `at_s` counts from the measurement's start.

    `completed / seconds` is the rate in a slice: slices are not all of the same length.
    """
    slices = (
        _Slice(row.trial, row.kind, row.run, interval)
        for row in engine_runs(contents)
        for interval in row.run.record.intervals
    )
    fields: list[Field[_Slice]] = [
        *run_fields(contents),
        field("at_s", "number", "s", "start of the slice", lambda s: s.interval.at_s),
        field("seconds", "number", "s", "length of the slice", lambda s: s.interval.seconds),
        field("completed", "integer", "", "connections", lambda s: s.interval.completed),
        field("failed", "integer", "", "connections", lambda s: s.interval.failed),
        *_client(_slice_cpu),
    ]
    return make_frame("seconds", fields, slices)


@dataclass(frozen=True)
class _Count(EngineRun):
    histogram: str
    value_ms: float
    count: int


def histograms(contents: RunContents) -> Frame:
    """A row for each value that occurred in a histogram; three significant digits.

    If a run has two clients, the histograms are those of the client that carried the load.
    """
    counts = (
        _Count(row.trial, row.kind, row.run, name, float(value), int(count))
        for row in engine_runs(contents)
        for name, encoded in load_histograms(row.run.record).items()
        for value, count in _pairs(encoded)
    )
    fields: list[Field[_Count]] = [
        *run_fields(contents),
        field("histogram", "text", "", "connect, handshake, service, ...", lambda c: c.histogram),
        field("value_ms", "number", "ms", "middle of the bucket", lambda c: c.value_ms),
        field("count", "integer", "", "how often it occurred", lambda c: c.count),
    ]
    return make_frame("histograms", fields, counts)


def _pairs(encoded: str) -> "zip[tuple[float, int]]":
    found = Distribution.decode(encoded)
    return zip(found.values, found.counts, strict=True)


@dataclass(frozen=True)
class _Host(EngineRun):
    part: HostPart


def _host_outcomes(row: _Host) -> Outcomes:
    return row.part.outcomes


def _host_cpu(row: _Host) -> CpuTime | None:
    return None if row.part.lost else row.part.cpu


def hosts(contents: RunContents) -> Frame:
    """A row for each generator of each run with several; none for runs of one generator."""
    parts = (
        _Host(row.trial, row.kind, row.run, part)
        for row in engine_runs(contents)
        for part in row.run.record.hosts
    )
    clocks = [_clock(*each) for each in _CLOCK]
    fields: list[Field[_Host]] = [*run_fields(contents), *_HOST_FIELDS, *clocks, *_VERDICTS]
    return make_frame("hosts", fields, parts)


def _clock(name: str, unit: str, about: str) -> Field[_Host]:
    """A value of the host's clock against the leader's; None if it was not read."""

    def read(row: _Host) -> float | None:
        found = row.part.found
        if found is None or found.clock is None:
            return None
        value: float = getattr(found.clock, name)
        return value

    return Field(Column(f"clock_{name}", "number", unit, about), read)


# The names are those of `model.hosts.HostClock`.
_CLOCK = (
    ("offset_s", "s", "the host's monotonic clock minus the leader's, before the start"),
    ("uncertainty_s", "s", "how far that may be off"),
    ("drift_ppm", "ppm", "how much faster the host's clock ran"),
    ("drift_uncertainty_ppm", "ppm", "how far that may be off"),
    ("moved_s", "s", "how far the clock left a steady drift, beyond what errors explain"),
)

_HOST_FIELDS: tuple[Field[_Host], ...] = (
    field("host", "text", "", "name of the generator", lambda r: r.part.name),
    field(
        "seconds", "number", "s", "length of its measurement, or until it was lost",
        lambda r: r.part.seconds,
    ),
    *_outcomes(_host_outcomes),
    field("requests", "integer", "", "answered requests", lambda r: r.part.requests),
    *_client(_host_cpu),
    field(
        "handshakes_per_s", "number", "1/s", "in memory, before the load",
        lambda r: r.part.found.handshakes_per_s if r.part.found else None,
    ),
    field(
        "start_skew_s", "number", "s", "by how much it began after the first",
        lambda r: r.part.start_skew_s,
    ),
)  # fmt: skip

_VERDICTS: tuple[Field[_Host], ...] = (
    field(
        "verdicts", "text", "", "codes of what the engine said of its run, and of the host",
        lambda r: " ".join(verdict.code for verdict in r.part.verdicts),
    ),
    field(
        "lost", "text", "", "why it was lost",
        lambda r: r.part.lost.reason if r.part.lost else None,
    ),
)  # fmt: skip
