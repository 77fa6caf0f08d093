"""The runs of the engine: counts, processor times, bytes and times of each."""

from collections.abc import Iterator

from tlslab.analysis.frames.rows import EngineRun, engine_runs, run_fields
from tlslab.domain.frame import Column, Field, Frame, field, make_frame
from tlslab.domain.handshake import Facts
from tlslab.domain.record import RunRecord, TimeSummary
from tlslab.domain.run import RunContents

# The quantiles of each histogram; the table `histograms` has the rest.
_QUANTILES = ("p50_ms", "p90_ms", "p99_ms")


def runs(contents: RunContents) -> Frame:
    """A row for each run of the engine; rates are counts divided by `seconds`."""
    rows = list(engine_runs(contents))
    names = dict.fromkeys(name for row in rows for name in row.run.record.load_summaries)
    fields = [*run_fields(contents), *_FIELDS, *_negotiated(), *_times(list(names))]
    return make_frame("runs", fields, rows)


def _record(row: EngineRun) -> RunRecord:
    return row.run.record


def _per_s(row: EngineRun) -> float | None:
    record = row.run.record
    return record.outcomes.completed / record.seconds if record.seconds > 0 else None


_FIELDS: tuple[Field[EngineRun], ...] = (
    field("seconds", "number", "s", "length of the measurement", lambda r: _record(r).seconds),
    field("connections_per_s", "number", "1/s", "completed connections per second", _per_s),
    field("attempts", "integer", "", "connections", lambda r: _record(r).outcomes.attempts),
    field("completed", "integer", "", "connections", lambda r: _record(r).outcomes.completed),
    field("failed", "integer", "", "connections", lambda r: _record(r).outcomes.failures),
    field(
        "unexpected", "integer", "", "connections that negotiated something else than was asked",
        lambda r: _record(r).outcomes.mismatches,
    ),
    field(
        "in_flight_at_stop", "integer", "", "connections that the end of the measurement cut off",
        lambda r: _record(r).outcomes.in_flight_at_stop,
    ),
    field(
        "lost_with_host", "integer", "", "connections in flight on a generator that was lost",
        lambda r: _record(r).outcomes.lost_with_host,
    ),
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
    field(
        "client_user_us", "integer", "us", "processor time of the generator's workers, program",
        lambda r: _record(r).cpu.user_us,
    ),
    field(
        "client_system_us", "integer", "us", "the same in the kernel",
        lambda r: _record(r).cpu.system_us,
    ),
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
        "server_memory_bytes", "integer", "B", "the server's memory at the end",
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
            found: TimeSummary | None = row.run.record.load_summaries.get(name)
            return getattr(found, quantile) if found is not None and found.n else None

        return Field(Column(f"{name}_{quantile}", "number", "ms", f"time of {name}"), read)

    for name in names:
        for quantile in _QUANTILES:
            yield of(name, quantile)
