"""The run with connections that are kept open: one value of each estimate from each trial."""

from collections.abc import Sequence

from tlslab.analysis.measures import (
    BYTE_RATE,
    BYTES,
    MICROSECONDS,
    RATE,
    SHARE,
    client_busy,
    server_busy,
    server_cost_us,
    split,
)
from tlslab.model.record import Trial, TrialRun
from tlslab.model.wording import percent

PREFIX = "steady_"
REQUESTS = "steady_requests_per_s"
SERVER = "steady_server_cpu_us_per_request"
CLIENT = "steady_client_cpu_us_per_request"

# Names of rates, of which a generator that was the limit makes lower bounds.
BOUNDED = (REQUESTS, "steady_bytes_per_s")

UNITS: dict[str, str] = {
    REQUESTS: RATE,
    "steady_bytes_per_s": BYTE_RATE,
    SERVER: MICROSECONDS,
    f"{SERVER}_user": MICROSECONDS,
    f"{SERVER}_system": MICROSECONDS,
    CLIENT: MICROSECONDS,
    f"{CLIENT}_user": MICROSECONDS,
    f"{CLIENT}_system": MICROSECONDS,
    "steady_server_memory_bytes": BYTES,
    "steady_server_busy": SHARE,
    "steady_client_busy": SHARE,
}


# Opening all connections may take so much of the warm-up, by what a handshake costs the server: it
# also answers the requests of those that are open already.
OPENING_SHARE = 0.6


def steady_values(trial: Trial, server_processors: int) -> dict[str, float]:
    """The values of a done trial's steady run; none where it has no such run.

    None either where handshakes may have reached into the measurement. Bytes are those of HTTP,
    heads and bodies: what TLS adds is counted when a connection ends.
    """
    run = trial.runs.get("steady")
    if run is None or run.record.requests == 0 or run.record.seconds <= 0:
        return {}
    if opening_share(trial, server_processors) > OPENING_SHARE:
        return {}
    record = run.record
    values = {
        REQUESTS: record.requests / record.seconds,
        "steady_bytes_per_s": (record.bytes.head + record.bytes.body) / record.seconds,
        "steady_client_busy": client_busy(run),
    }
    values |= split(
        CLIENT, record.cpu.total_us / record.requests, record.cpu.user_us, record.cpu.system_us
    )
    return values | _server(run, server_processors)


def opening_share(trial: Trial, server_processors: int) -> float:
    """The share of the steady run's warm-up that the handshakes of its connections take the server.

    0 where the server is not accounted for, or has no run with handshakes alone.
    """
    steady, capacity = trial.runs.get("steady"), trial.runs.get("capacity")
    cost = server_cost_us(capacity) if capacity is not None else None
    if steady is None or cost is None:
        return 0.0
    spec = steady.record.spec
    warm_up_us = spec.get("warmup_ms", 0) * 1000 * server_processors
    opening_us = spec.get("connections", 0) * cost
    return opening_us / warm_up_us if warm_up_us else 0.0


def not_measurable(trials: Sequence[Trial], server_processors: int) -> dict[str, str]:
    """Why requests on open connections have no estimate, where handshakes may have reached in."""
    shares = [opening_share(trial, server_processors) for trial in trials]
    if not shares or min(shares) <= OPENING_SHARE:
        return {}
    reason = (
        f"the handshakes of all connections take {percent(min(shares))} of the warm-up at least, "
        "and may have reached into the measurement: use a longer warm-up"
    )
    return {REQUESTS: reason}


def _server(run: TrialRun, processors: int) -> dict[str, float]:
    busy, server = server_busy(run, processors), run.server
    if server is None or busy is None:
        return {}
    per_second = (server.user_us + server.system_us) / server.seconds
    cost = per_second * run.record.seconds / run.record.requests
    return {
        **split(SERVER, cost, server.user_us, server.system_us),
        "steady_server_memory_bytes": float(server.memory_bytes),
        "steady_server_busy": busy,
    }
