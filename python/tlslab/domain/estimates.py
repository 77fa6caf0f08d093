"""The estimates of the lab: one row each, read by analysis, reports and the page.

`analysis/measures.py` has the function that computes an estimate from a run, by the same name.
The order of the rows is that of summaries, tables and tests: rates, costs, amounts, shares, times.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from tlslab.domain.estimate import Estimate

MICRO = "µs"

# Stored units.
PER_SECOND = "1/s"
MICROSECONDS = "us"
MILLISECONDS = "ms"
BYTES = "B"
BYTES_PER_SECOND = "B/s"
SHARE = "share"
RATIO = "ratio"

# The unit in which a stored unit is shown, and the factor between the two.
_SHOWN = {
    PER_SECOND: ("/s", 1.0),
    MICROSECONDS: (MICRO, 1.0),
    SHARE: ("%", 100.0),
    RATIO: ("times", 1.0),
    "1": ("", 1.0),
}

# The names to which other modules refer.
CONNECTIONS = "connections_per_s"
REQUESTS = "requests_per_s"
CAPACITY = "capacity_connections_per_s"
OPERATIONS = "operations_per_s"
SERVER_COST = "server_cpu_us_per_connection"
CLIENT_COST = "client_cpu_us_per_connection"
CONNECTIONS_PER_CPU = "connections_per_cpu_s"
MIX_COST = "server_cpu_us_per_connection_of_mix"
OPERATION_COST = "client_cpu_us_per_operation"
SIGNERS_COST = "signers_cpu_us_per_operation"
SERVER_MEMORY = "server_memory_bytes"
WIRE_BYTES = "wire_bytes_per_handshake"
OCSP_BYTES = "ocsp_response_bytes"
ROUND_TRIPS = "round_trips"
ROUND_TRIPS_RESUMED = "round_trips_resumed"
SERVER_BUSY = "server_busy"
CLIENT_BUSY = "client_busy"
USERS_ANSWERED = "users_answered"
USERS_GAVE_UP = "users_gave_up"
CLIENT_LIMIT = "limit_ratio"
SERVER_LIMIT = "server_limit_ratio"
OPEN_REQUESTS = "keep_alive_requests_per_s"
OPEN_BYTES = "keep_alive_bytes_per_s"
OPEN_SERVER_COST = "keep_alive_server_cpu_us_per_request"
OPEN_CLIENT_COST = "keep_alive_client_cpu_us_per_request"
OPEN_MEMORY = "keep_alive_server_memory_bytes"
OPEN_SERVER_BUSY = "keep_alive_server_busy"
OPEN_CLIENT_BUSY = "keep_alive_client_busy"
HANDSHAKE = "handshake_ms"
HANDSHAKE_P99 = "handshake_ms_p99"
FIRST_BYTE = "first_byte_ms"
SERVICE = "service_ms"
CONNECT = "connect_ms"
RESPONSE = "response_ms"
OPERATION = "operation_ms"
OPERATION_MEAN = "operation_ms_mean"

# The times of connections, by their importance, with their histograms in the record.
CONNECTION_TIMES = {
    HANDSHAKE: "handshake",
    FIRST_BYTE: "first_byte",
    SERVICE: "service",
    CONNECT: "connect",
}

# `efficiency`: what a processor second gives; a cost turned round.
Dimension = Literal["rate", "cost", "efficiency", "amount", "share", "time"]

# The families in which estimates are judged: what two runs, or all runs of a history, have in
# common; the cells of a run against its baseline; the cells of a ranking.
Family = Literal["runs", "cells", "ranking"]


@dataclass(frozen=True)
class Quantity:
    """What an estimate is an estimate of.

    `unit`: as stored. `label`: the name in a sentence, at an axis, in a comparison. `families`:
    where it is judged. `tile`: its title among the figures of the leading cell, if it is one.
    `short`: the head of a narrow column of text, with the unit.
    `keep_alive`: of requests on connections that are kept open. `of_server`: it contains the
    server's processor time. `of_maximum`: measured at the server's highest rate, or at a share of
    it, so that it is left open if that is.

    `head`, `place`, `hidden`, `mega`: its column in a table of the page. In that of all cells the
    columns are in the order of their importance (1 is the first; 0: it has none), hidden ones open
    by a click. `mega`: in millions.
    """

    name: str
    unit: str
    dimension: Dimension
    label: str
    families: tuple[Family, ...] = ()
    tile: str = ""
    short: str = ""
    head: str = ""
    place: int = 0
    hidden: bool = False
    mega: bool = False
    keep_alive: bool = False
    of_server: bool = False
    of_maximum: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether it becomes a lower bound where the generator was the limit."""
        return self.dimension == "rate"

    @property
    def is_bounded_by_verdict(self) -> bool:
        """Whether it is a lower bound in a cell of the verdict `at_least`: of new connections."""
        return self.is_bounded and not self.keep_alive

    @property
    def more_is_better(self) -> bool:
        """Whether a higher value is better. Less is better of costs and times."""
        return self.dimension in ("rate", "efficiency")

    @property
    def column(self) -> tuple[str, float]:
        """The unit in a column of its values, and the factor to it."""
        return (f"M{self.unit}", 1e-6) if self.mega else unit_shown(self.unit)

    @property
    def is_amount(self) -> bool:
        """Whether it is an amount (memory, bytes): more or less, but not faster or slower."""
        return self.dimension == "amount"


_RUNS: tuple[Family, ...] = ("runs",)
_ALL: tuple[Family, ...] = ("runs", "cells", "ranking")

_OPEN = "on connections kept open"
_SERVER_CPU, _CLIENT_CPU = "the server's processor time", "the client's processor time"
_MEMORY = "the server's memory"
_SERVER_SHARE = "share of its processors, without steal, that the server used"
_CLIENT_SHARE = "share of a processor, without steal, that the generator's busiest worker used"
_PRIMITIVES = "over the sum of its primitives"

# A cost has two parts; a time has statistics, and of a response time each load has its own.
_PARTS = {"user": "in the program", "system": "in the kernel"}
_STATISTICS = {
    "mean": "mean", "p50": "p50", "p99": "p99", "p90": "p90", "p95": "p95", "p999": "p99.9",
}  # fmt: skip
_AT = "_at_"


def _with_parts(whole: Quantity, families: tuple[Family, ...] = ()) -> Iterator[Quantity]:
    """A cost, and what of it was in the program and in the kernel."""
    yield whole
    for part, words in _PARTS.items():
        yield replace(
            whole, name=f"{whole.name}_{part}", label=f"{whole.label}, {words}", tile="", short="",
            head=f"{whole.head}, {words}", hidden=True, families=families,
        )  # fmt: skip


def _statistics(
    time: str,
    label: str,
    head: str = "",
    judged: tuple[Family, ...] = (),
    tile: str = "",
    place: int = 0,
) -> Iterator[Quantity]:
    """Mean and quantiles of a time; p50 and p99 are judged, `tile` and `place` are the median's."""
    for name, words in _STATISTICS.items():
        row = Quantity(f"{time}_{name}", MILLISECONDS, "time", f"{label} {words}")
        if head:
            row = replace(row, head=f"{head} {words}", short=f"{head} ms {words}")
        if name in ("p50", "p99"):
            row = replace(row, families=judged)
        yield replace(row, tile=tile, place=place) if name == "p50" else row


_ROWS = (
    Quantity(
        CONNECTIONS, PER_SECOND, "rate", "new connections/s", _ALL,
        tile="New connections/s", short="new conn. /s", head="connections", place=1,
        of_maximum=True,
    ),
    Quantity("handshakes_per_s", PER_SECOND, "rate", "handshakes/s"),
    Quantity(REQUESTS, PER_SECOND, "rate", "requests/s", _RUNS, of_maximum=True),
    Quantity("bytes_per_s", BYTES_PER_SECOND, "rate", "bytes/s"),
    Quantity(
        CAPACITY, PER_SECOND, "rate", "new connections/s that meet the objective", _RUNS
    ),
    Quantity(
        OPEN_REQUESTS, PER_SECOND, "rate", f"requests/s {_OPEN}", _ALL,
        tile="Requests/s, connections kept open", short="requests /s", head="requests", place=1,
        keep_alive=True,
    ),
    Quantity(
        OPEN_BYTES, BYTES_PER_SECOND, "rate", f"bytes/s {_OPEN}", ("cells",),
        head="HTTP", place=4, mega=True, keep_alive=True,
    ),
    Quantity(OPERATIONS, PER_SECOND, "rate", "operations/s", _RUNS),
    *_with_parts(
        Quantity(
            SERVER_COST, MICROSECONDS, "cost", f"{_SERVER_CPU} for a new connection", _ALL,
            tile="Server's processor time", short="server µs a connection", head="server CPU",
            place=2, of_server=True,
        ),
        ("cells",),
    ),
    *_with_parts(
        Quantity(
            CLIENT_COST, MICROSECONDS, "cost", f"{_CLIENT_CPU} for a new connection", _ALL,
            tile="Client's processor time", head="client CPU", place=3,
        ),
        ("cells",),
    ),
    Quantity(
        CONNECTIONS_PER_CPU, PER_SECOND, "efficiency",
        "new connections per second of processor time, both sides", ("cells",),
        head="connections per CPU second", place=8, of_server=True,
    ),
    *_with_parts(
        Quantity(
            OPEN_SERVER_COST, MICROSECONDS, "cost", f"{_SERVER_CPU} for a request {_OPEN}", _ALL,
            short="server µs a request", head="server CPU", place=2, keep_alive=True,
            of_server=True,
        ),
        ("cells",),
    ),
    *_with_parts(
        Quantity(
            OPEN_CLIENT_COST, MICROSECONDS, "cost", f"{_CLIENT_CPU} for a request {_OPEN}", _ALL,
            head="client CPU", place=3, keep_alive=True,
        ),
    ),
    Quantity(
        MIX_COST, MICROSECONDS, "cost", f"{_SERVER_CPU} for a connection of the mix",
        of_server=True,
    ),
    Quantity(
        OPERATION_COST, MICROSECONDS, "cost",
        "processor time of the benchmark's process for an operation", _RUNS,
    ),
    Quantity(
        SIGNERS_COST, MICROSECONDS, "cost",
        "processor time of the signing processes for an operation", _RUNS,
    ),
    Quantity(
        SERVER_MEMORY, BYTES, "amount", _MEMORY, _RUNS, short="memory MiB",
        head="server memory", place=9, mega=True,
    ),
    Quantity(
        OPEN_MEMORY, BYTES, "amount", f"{_MEMORY} {_OPEN}", ("runs", "cells"),
        head="server memory", place=5, mega=True, keep_alive=True,
    ),
    Quantity(
        WIRE_BYTES, BYTES, "amount", "bytes of a handshake on the wire", _RUNS,
        tile="Handshake on the wire", short="bytes a handshake", head="handshake", place=5,
    ),
    Quantity(
        OCSP_BYTES, BYTES, "amount", "bytes of a stapled OCSP response", _RUNS,
        head="OCSP response", place=6,
    ),
    Quantity(
        ROUND_TRIPS, "1", "amount", "round trips to the first byte of a connection, full handshake"
    ),
    Quantity(
        ROUND_TRIPS_RESUMED, "1", "amount", "round trips to the first byte of a resumed connection"
    ),
    Quantity(SERVER_BUSY, SHARE, "share", _SERVER_SHARE, head="server busy", place=7),
    Quantity(CLIENT_BUSY, SHARE, "share", _CLIENT_SHARE),
    Quantity(USERS_ANSWERED, SHARE, "share", "share of users who got an answer in the end"),
    Quantity(USERS_GAVE_UP, SHARE, "share", "share of users who gave up for good"),
    Quantity(
        SERVER_LIMIT, RATIO, "share", f"{_SERVER_CPU} {_PRIMITIVES}",
        head="server CPU over the sum of primitives", place=2, hidden=True, of_server=True,
    ),
    Quantity(
        CLIENT_LIMIT, RATIO, "share", f"{_CLIENT_CPU} {_PRIMITIVES}",
        head="client CPU over the sum of primitives", place=3, hidden=True,
    ),
    Quantity(OPEN_SERVER_BUSY, SHARE, "share", f"{_SERVER_SHARE} {_OPEN}", keep_alive=True),
    Quantity(OPEN_CLIENT_BUSY, SHARE, "share", f"{_CLIENT_SHARE} {_OPEN}", keep_alive=True),
    *_statistics(
        HANDSHAKE, "handshake time", "handshake", _RUNS, tile="Handshake, median", place=4
    ),
    *_statistics(FIRST_BYTE, "time to the first byte", "first byte"),
    *_statistics(SERVICE, "service time", "service"),
    *_statistics(CONNECT, "connect time", "TCP connect"),
    *_statistics(OPERATION, "time of an operation", judged=_RUNS),
    *_statistics(RESPONSE, "response time", judged=_RUNS),
)  # fmt: skip

_BY_NAME = {row.name: row for row in _ROWS}


@cache
def quantity(name: str) -> Quantity:
    """The row of an estimate; of an unknown one a row without properties, its name as text.

    A time or a share at a load, a share of the maximum in per cent, has the row of the time:
    `response_ms_p99_at_40`.
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    time, _, load = name.partition(_AT)
    row = _BY_NAME.get(time)
    if load and row is not None and row.dimension in ("time", "share"):
        label = f"{row.label} at {load} % of the maximum"
        return replace(row, name=name, label=label, of_maximum=True)
    return Quantity(name, "", "share", name.replace("_", " "))


def quantile(time: str, percentage: float) -> str:
    """The estimate of a quantile of a time: `handshake_ms_p99`, `operation_ms_p999` of 99.9."""
    return statistic(time, f"p{percentage:g}".replace(".", ""))


def statistic(time: str, name: str) -> str:
    """The estimate of a time's statistic: `mean`, `p50`, `p999`."""
    return f"{time}_{name}"


def at_load(estimate: str, fraction: float) -> str:
    """The estimate of a time or a share at a load, `response_ms_p99_at_40`."""
    return f"{estimate}{_AT}{fraction * 100:g}"


def parts_of(cost: str) -> tuple[str, ...]:
    """The parts of a cost: in the program, and in the kernel."""
    return tuple(f"{cost}_{part}" for part in _PARTS)


def estimate_name(name: str) -> str:
    """The name of an estimate in words: `response time p99 at 40 % of the maximum`."""
    return quantity(name).label


def axis_title(name: str) -> str:
    """The name of an estimate with its unit, at an axis; words for rates contain theirs."""
    row = quantity(name)
    unit, _ = unit_shown(row.unit)
    return row.label if row.dimension == "rate" or not unit else f"{row.label}, {unit}"


def in_order(names: Iterable[str]) -> list[str]:
    """The names in the order of the rows; those without a row of their own come last."""
    found = dict.fromkeys(names)
    return [*(n for n in _BY_NAME if n in found), *(n for n in found if n not in _BY_NAME)]


def judged_in(family: Family) -> tuple[str, ...]:
    """The estimates of a family: those of new connections, then those of connections kept open."""
    found = [row for row in _ROWS if family in row.families]
    return tuple(row.name for row in sorted(found, key=lambda row: row.keep_alive))


def bounded_by_verdict() -> list[str]:
    """The estimates that are lower bounds in a cell of the verdict `at_least`."""
    return [row.name for row in _ROWS if row.is_bounded_by_verdict]


def columns(keep_alive: bool) -> list[Quantity]:
    """The columns of the page's table of cells: hidden ones last, the others by importance."""
    found = [row for row in _ROWS if row.place and row.keep_alive == keep_alive]
    return sorted(found, key=lambda row: (row.hidden, row.place))


def tiles() -> list[Quantity]:
    """The figures of a leading cell: rates, costs, times, amounts."""
    found = [row for row in _ROWS if row.tile]
    return sorted(found, key=lambda row: row.is_amount)


@dataclass(frozen=True)
class Shown:
    """An estimate's value and interval, in the unit of display."""

    value: float
    low: float | None
    high: float | None
    unit: str


def unit_shown(unit: str) -> tuple[str, float]:
    """The words for a stored unit, empty for none, and the factor to it."""
    return _SHOWN.get(unit, (unit, 1.0))


def shown(found: Estimate) -> Shown:
    """The estimate in units for readers: megabytes, per cent, microseconds with their sign."""
    unit, scale = unit_shown(found.unit)
    if found.unit in (BYTES, BYTES_PER_SECOND) and abs(found.value) >= 1e6:
        unit, scale = f"M{found.unit}", 1e-6
    low, high = (None if end is None else end * scale for end in (found.low, found.high))
    return Shown(found.value * scale, low, high, unit)
