"""The load generators of runs with several generators."""

from dataclasses import dataclass

from tlslab.analysis.frames.rows import EngineRun, engine_runs, run_fields
from tlslab.domain.frame import Column, Field, Frame, field, make_frame
from tlslab.domain.record import HostPart
from tlslab.domain.run import RunContents


@dataclass(frozen=True)
class _Host(EngineRun):
    part: HostPart


def hosts(contents: RunContents) -> Frame:
    """A row for each generator of each run with several; none for runs of one generator."""
    parts = (
        _Host(row.trial, row.kind, row.run, part)
        for row in engine_runs(contents)
        for part in row.run.record.hosts
    )
    clocks = [_clock(*each) for each in _CLOCK]
    fields: list[Field[_Host]] = [*run_fields(contents), *_FIELDS, *clocks, *_VERDICTS]
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

_FIELDS: tuple[Field[_Host], ...] = (
    field("host", "text", "", "name of the generator", lambda r: r.part.name),
    field(
        "seconds", "number", "s", "length of its measurement, or until it was lost",
        lambda r: r.part.seconds,
    ),
    field("attempts", "integer", "", "connections", lambda r: r.part.outcomes.attempts),
    field("completed", "integer", "", "connections", lambda r: r.part.outcomes.completed),
    field("failed", "integer", "", "connections", lambda r: r.part.outcomes.failures),
    field(
        "unexpected", "integer", "", "connections that negotiated something else than was asked",
        lambda r: r.part.outcomes.mismatches,
    ),
    field(
        "in_flight_at_stop", "integer", "", "connections that the end of the measurement cut off",
        lambda r: r.part.outcomes.in_flight_at_stop,
    ),
    field(
        "lost_with_host", "integer", "", "connections in flight when it was lost",
        lambda r: r.part.outcomes.lost_with_host,
    ),
    field("requests", "integer", "", "answered requests", lambda r: r.part.requests),
    field(
        "client_user_us", "integer", "us", "processor time of its workers, program",
        lambda r: None if r.part.lost else r.part.cpu.user_us,
    ),
    field(
        "client_system_us", "integer", "us", "the same in the kernel",
        lambda r: None if r.part.lost else r.part.cpu.system_us,
    ),
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
