"""The estimates by which runs are judged: `tlslab compare`, its gate, and `tlslab history`. Pure.

Higher rates are better, lower costs and times are better; amounts are more or less, neither good
nor bad (`compare.more_is_faster`, `compare.is_amount`). Left out are repetitions of another
estimate (in a closed loop handshakes/s, bytes/s and the time of a whole connection follow the
rates), combinations of others, the parts of a cost, and shares of busy processors. Times are judged
by their middle and their end, p50 and p99.
"""

from collections.abc import Collection, Mapping

from tlslab.analysis import keep_alive
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import CellSummary

_CONNECTIONS = "connections_per_s"
_REQUESTS = "requests_per_s"

# The rates of the kinds of experiments, which come first in judging their cells.
_LEADING = ("capacity_connections_per_s", _CONNECTIONS, _REQUESTS, "operations_per_s")

RATES = (
    _CONNECTIONS,
    _REQUESTS,
    "capacity_connections_per_s",
    keep_alive.REQUESTS,
    "operations_per_s",
)
COSTS = (
    "server_cpu_us_per_connection",
    "client_cpu_us_per_connection",
    keep_alive.SERVER,
    keep_alive.CLIENT,
    "client_cpu_us_per_operation",
    "signers_cpu_us_per_operation",
)
TIMES = ("handshake_ms_p50", "handshake_ms_p99", "operation_ms_p50", "operation_ms_p99")
AMOUNTS = (
    "server_memory_bytes",
    "keep_alive_server_memory_bytes",
    "wire_bytes_per_handshake",
    "ocsp_response_bytes",
)

_ORDER = (*RATES, *COSTS, *AMOUNTS, *TIMES)

# Response times of an open loop at each of its loads: `response_ms_p99_at_60`.
_AT_LOADS = ("response_ms_p50_at_", "response_ms_p99_at_")

# The same in words, for a report's method.
WORDS = (
    "Compared are rates, the processor time of both sides, memory, the bytes of a handshake and of "
    "an OCSP response, and p50 and p99 of handshakes, operations and response times at each load: "
    "as far as the runs have them. Other estimates are in each run's summary.json."
)


def judged_names(*sides: Mapping[str, Estimate]) -> list[str]:
    """The estimates of one or more sides by which they are judged, rates first.

    Requests/s are left out if each connection had one request: they repeat the connections/s.
    """
    found = dict.fromkeys(name for side in sides for name in side)
    counted = [side for side in sides if _REQUESTS in side]
    if all(_one_request(side) for side in counted):
        found.pop(_REQUESTS, None)
    known = [name for name in _ORDER if name in found]
    return [*known, *(name for name in found if name.startswith(_AT_LOADS))]


def _one_request(side: Mapping[str, Estimate]) -> bool:
    rate = side.get(_CONNECTIONS)
    return rate is not None and rate.value == side[_REQUESTS].value


def leading_rate(names: Collection[str]) -> str:
    """The first rate by which cells with these estimates are judged."""
    return next((name for name in _LEADING if name in names), _CONNECTIONS)


def gated_rates(names: Collection[str]) -> tuple[str, ...]:
    """The rates that a gate uses by default: the leading rate, and that of open connections."""
    wanted = (leading_rate(names), keep_alive.REQUESTS)
    return tuple(name for name in wanted if name in names)


def left_open(cell: CellSummary, name: str) -> str:
    """The reason that an estimate is left open, because it depends on an unknown maximum; else
    empty.

    The load that meets the objective does not depend on the maximum: it lies between offered loads.
    """
    rests = name in (_CONNECTIONS, _REQUESTS) or "_at_" in name
    return cell.left_open.get(_CONNECTIONS, "") if rests else ""
