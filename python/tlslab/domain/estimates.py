"""Names and units of estimates: one table for all reports."""

import re
from dataclasses import dataclass

from tlslab.domain.estimate import Estimate

MICRO = "µs"

# The unit in which a stored unit is shown, and the factor between the two.
_SHOWN = {"1/s": ("/s", 1.0), "us": (MICRO, 1.0), "share": ("%", 100.0), "ratio": ("times", 1.0)}

_SERVER_CPU = "the server's processor time"
_CLIENT_CPU = "the client's processor time"

_NAMES = {
    "connections_per_s": "new connections/s",
    "capacity_connections_per_s": "new connections/s that meet the objective",
    "handshakes_per_s": "handshakes/s",
    "requests_per_s": "requests/s",
    "bytes_per_s": "bytes/s",
    "operations_per_s": "operations/s",
    "connections_per_cpu_s": "new connections per second of processor time, both sides",
    "wire_bytes_per_handshake": "bytes of a handshake on the wire",
    "ocsp_response_bytes": "bytes of a stapled OCSP response",
    "client_cpu_us_per_connection": f"{_CLIENT_CPU} for a new connection",
    "server_cpu_us_per_connection": f"{_SERVER_CPU} for a new connection",
    "client_cpu_us_per_request": f"{_CLIENT_CPU} for a request",
    "server_cpu_us_per_request": f"{_SERVER_CPU} for a request",
    "client_cpu_us_per_operation": "processor time of the benchmark's process for an operation",
    "signers_cpu_us_per_operation": "processor time of the signing processes for an operation",
    "server_memory_bytes": "the server's memory",
    "server_busy": "share of its processors, without steal, that the server used",
    "client_busy": "share of a processor, without steal, that the generator's busiest worker used",
    "limit_ratio": "the client's processor time over the sum of its primitives",
    "server_limit_ratio": "the server's processor time over the sum of its primitives",
}

_TIMES = {
    "connect_ms": "connect time",
    "handshake_ms": "handshake time",
    "first_byte_ms": "time to the first byte",
    "service_ms": "service time",
    "response_ms": "response time",
    "operation_ms": "time of an operation",
}

_PARTS = {"user": "in the program", "system": "in the kernel"}

_KEEP_ALIVE = "keep_alive_"

_TIME = re.compile(r"(?P<what>\w+_ms)_(?P<of>mean|p\d+)(?:_at_(?P<load>[\d.]+))?")


@dataclass(frozen=True)
class Shown:
    """An estimate's value and interval, in the unit of display."""

    value: float
    low: float | None
    high: float | None
    unit: str


def estimate_name(name: str) -> str:
    """The name of an estimate in words: `response time p99 at 40 % of the maximum`.

    An unknown name is returned as text. `keep_alive_requests_per_s` is `requests/s on connections
    kept open`.
    """
    if name in _NAMES:
        return _NAMES[name]
    if name.startswith(_KEEP_ALIVE):
        return f"{estimate_name(name.removeprefix(_KEEP_ALIVE))} on connections kept open"
    if (time := _TIME.fullmatch(name)) is not None and time["what"] in _TIMES:
        load = f" at {time['load']} % of the maximum" if time["load"] else ""
        return f"{_TIMES[time['what']]} {_quantile(time['of'])}{load}"
    whole, _, part = name.rpartition("_")
    if part in _PARTS and whole in _NAMES:
        return f"{_NAMES[whole]}, {_PARTS[part]}"
    return name.replace("_", " ")


def _quantile(of: str) -> str:
    """`p999` is the 99.9th percentile."""
    return "p99.9" if of == "p999" else of


def shown(found: Estimate) -> Shown:
    """The estimate in units for readers: megabytes, per cent, microseconds with their sign."""
    unit, scale = _SHOWN.get(found.unit, (found.unit, 1.0))
    if found.unit in ("B", "B/s") and abs(found.value) >= 1e6:
        unit, scale = f"M{found.unit}", 1e-6
    low, high = (None if end is None else end * scale for end in (found.low, found.high))
    return Shown(found.value * scale, low, high, unit)
