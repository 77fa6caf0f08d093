"""The load of one run, TLS aside: connections, document, windows of time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tlslab.domain.factors import FACTORS, RESUMES_BY
from tlslab.domain.names import NO_TLS

# The engine's default, which is not repeated in specifications.
EXPECTED_STATUS = "2xx"

# The usual way of resumption in each version of TLS.
USUALLY = {NO_TLS: "none", "1.2": "ticket", "1.3": "psk"}


def resumption(factors: Mapping[str, str], otherwise: str) -> str:
    """How the connections of a cell resume: its level of `resume`, or else `otherwise`.

    If the share that resumes is itself a factor (`resumed`), a way that the cell's TLS version does
    not have is replaced by that version's usual one.
    """
    way = factors.get("resume", "none" if factors.get("tls") == NO_TLS else otherwise)
    if "resumed" not in factors:
        return way
    version = factors.get("tls", "1.3")
    return USUALLY.get(version, way) if way == "none" else resumption_in(version, way)


def resumption_in(version: str | None, way: str) -> str:
    """`way`, or the version's usual way if `way` belongs to another version (None: any)."""
    if version is None or RESUMES_BY.get(way, version) == version:
        return way
    return USUALLY.get(version, way)


@dataclass(frozen=True)
class Window:
    """Warm-up and measurement of one engine run, in milliseconds.

    With a `count` the measurement ends after this number of connections, and `measure_ms` is its
    expected length.
    """

    warmup_ms: int
    measure_ms: int
    count: int = 0

    @property
    def seconds(self) -> float:
        """Warm-up and measurement together, in seconds."""
        return (self.warmup_ms + self.measure_ms) / 1000

    def shortened(self, share: float) -> "Window":
        """A share of the measurement, 200 ms at least, and of the warm-up, half of it at least."""
        return Window(
            round(self.warmup_ms * max(share, 0.5)),
            min(self.measure_ms, max(200, round(self.measure_ms * share))),
            round(self.count * share),
        )


@dataclass(frozen=True)
class KeepAlive:
    """A closed loop over connections that are kept open: as many requests as fit into the window.

    The window starts when all connections are open; they must open within `open_within_ms`. `http`
    is the version, None for the workload's own; `streams` as in `Workload`.
    """

    window: Window
    connections: int
    http: str | None = None
    streams: int = 1
    open_within_ms: int = 20_000


# The windows of experiments without such runs.
NO_WINDOW = Window(0, 0)


@dataclass(frozen=True)
class Workload:
    """A closed loop over new connections.

    Each trial has two runs. `capacity`, with the lean client, loads the server as far as possible
    and gives rates, latencies and the server's cost. `client_cost`, with the full client, gives the
    cost of the handshake to a real client. `http` is the version; `streams` the number of requests
    in flight at once on a connection, more than one with HTTP/2 only. `resume`: how connections
    resume an earlier session; `resume_ratio`: the share of connections that do. With `keep_alive` a
    trial has a third run, of keep-alive requests. `expect_status`: the status that a response must
    have: `2xx`, `302`, `any`, or several with commas between them.
    """

    document_bytes: int
    connections: int
    requests_per_connection: int
    capacity: Window = NO_WINDOW
    client_cost: Window = NO_WINDOW
    http: str = "1.1"
    streams: int = 1
    resume: str = "none"
    resume_ratio: float = 1.0
    keep_alive: KeepAlive | None = None
    expect_status: str = EXPECTED_STATUS

    @property
    def trial_seconds(self) -> float:
        """The duration of one trial in seconds, without the time to start and stop programs."""
        keep_alive = self.keep_alive.window.seconds if self.keep_alive else 0.0
        return self.capacity.seconds + self.client_cost.seconds + keep_alive

    def warming_up(self, length_ms: int) -> "Workload":
        """The same load of new connections for N milliseconds, all of it counted."""
        return replace(self, capacity=Window(0, length_ms))

    def shortened(self, share: float) -> "Workload":
        """The same load in windows of a share of the length."""
        if share >= 1:
            return self
        kept = self.keep_alive
        return replace(
            self,
            capacity=self.capacity.shortened(share),
            client_cost=self.client_cost.shortened(share),
            keep_alive=kept and replace(kept, window=kept.window.shortened(share)),
        )

    def of(self, factors: Mapping[str, str]) -> "Workload":
        """The load of a cell: the workload with the cell's levels of the factors that belong to the
        load.

        `resumed` is the share of connections that resume, in the only way that the cell's version
        of TLS has, if neither factor nor workload names another.
        """
        fields = {
            row.load: row.value(level)
            for name, level in factors.items()
            if (row := FACTORS.get(name)) is not None and row.load
        }
        load = replace(self, **fields, resume=resumption(factors, self.resume))
        return load if load.http == "2" else replace(load, streams=1)
