"""The run with connections kept open: one value of each estimate from each trial."""

from collections.abc import Sequence

from tlslab.analysis.measures import (
    BYTE_RATE,
    BYTES,
    MICROSECONDS,
    RATE,
    SHARE,
    Processors,
    client_busy,
    held,
    split,
)
from tlslab.domain.trial import Trial, TrialRun

PREFIX = "keep_alive_"
REQUESTS = "keep_alive_requests_per_s"
SERVER = "keep_alive_server_cpu_us_per_request"
CLIENT = "keep_alive_client_cpu_us_per_request"

UNITS: dict[str, str] = {
    REQUESTS: RATE,
    "keep_alive_bytes_per_s": BYTE_RATE,
    SERVER: MICROSECONDS,
    f"{SERVER}_user": MICROSECONDS,
    f"{SERVER}_system": MICROSECONDS,
    CLIENT: MICROSECONDS,
    f"{CLIENT}_user": MICROSECONDS,
    f"{CLIENT}_system": MICROSECONDS,
    "keep_alive_server_memory_bytes": BYTES,
    "keep_alive_server_busy": SHARE,
    "keep_alive_client_busy": SHARE,
}


def keep_alive_values(trial: Trial, processors: Processors) -> dict[str, float]:
    """The values of a finished trial's keep_alive run; none without such a run.

    None also if the measurement did not wait until all connections were open: it may then contain
    handshakes. Bytes are those of HTTP, heads and bodies; the overhead of TLS is counted only when
    a connection ends.
    """
    run = trial.runs.get("keep_alive")
    if run is None or run.record.requests == 0 or run.record.seconds <= 0:
        return {}
    if not _waited(run):
        return {}
    record = run.record
    values = {
        REQUESTS: record.requests / record.seconds,
        "keep_alive_bytes_per_s": (record.bytes.head + record.bytes.body) / record.seconds,
        "keep_alive_client_busy": client_busy(run),
    }
    values |= split(
        CLIENT, record.cpu.total_us / record.requests, record.cpu.user_us, record.cpu.system_us
    )
    return values | _server(run, processors)


def not_measurable(trials: Sequence[Trial]) -> dict[str, str]:
    """The reason for missing estimates of requests on open connections: possible handshakes."""
    runs = [run for trial in trials if (run := trial.runs.get("keep_alive")) is not None]
    if not runs or any(_waited(run) for run in runs):
        return {}
    reason = (
        "the measurement began before all connections were open, so that handshakes may have "
        "reached into it: run it anew"
    )
    return {REQUESTS: reason}


def _waited(run: TrialRun) -> bool:
    return bool(run.record.spec.get("load", {}).get("open_within_ms"))


def _server(run: TrialRun, processors: Processors) -> dict[str, float]:
    server = run.server
    if server is None or server.seconds <= 0:
        return {}
    per_second = (server.user_us + server.system_us) / server.seconds
    cost = per_second * run.record.seconds / run.record.requests
    return {
        **split(SERVER, cost, server.user_us, server.system_us),
        **{f"{PREFIX}{name}": value for name, value in held(run, processors).items()},
    }
