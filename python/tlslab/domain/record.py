"""What happened in one run of the engine.

`RunRecord` and its parts follow the engine's wire format (`schema/record.json`); times are in
microseconds or seconds as the name says, bytes are TCP payload.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tlslab.domain.handshake import CountedFacts, Preflight
from tlslab.domain.hosts import HostFound, Lost
from tlslab.domain.outcomes import ConfirmedBy, CountedName, Kinds, Outcomes


@dataclass(frozen=True)
class CpuTime:
    """Processor time in microseconds, in user space and in the kernel."""

    user_us: int
    system_us: int

    @property
    def total_us(self) -> int:
        """User and system time together."""
        return self.user_us + self.system_us


@dataclass(frozen=True)
class WorkerUsage:
    """What one worker of the engine used during the measurement.

    `stolen`: the share of its processor's time that a hypervisor gave to other machines, as a lower
    bound; None where it is not known.
    """

    processor: int | None
    cpu: CpuTime
    seconds: float
    stolen: float | None = None

    @property
    def busy(self) -> float:
        """The share of the time left by the hypervisor for which the worker computed.

        Raises ZeroDivisionError for a measurement without a length.
        """
        used = self.cpu.total_us / (self.seconds * 1e6)
        # The two shares do not begin and end at the same instants.
        left = max(1 - (self.stolen or 0.0), min(used, 1.0))
        return used / left if left > 0 else 0.0


@dataclass(frozen=True)
class Bytes:
    """Bytes over the connections that ended in the measurement (the engine's record.rs)."""

    handshake_sent: int
    handshake_received: int
    sent: int
    received: int
    head: int
    body: int


@dataclass(frozen=True)
class TimeSummary:
    """A histogram in short, in milliseconds."""

    n: int
    min_ms: float
    mean_ms: float
    sd_ms: float
    p50_ms: float
    p90_ms: float
    p95_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float


@dataclass(frozen=True)
class Interval:
    """One slice of the measurement; `cpu` is the workers' processor time in it."""

    at_s: float
    seconds: float
    completed: int
    failed: int
    cpu: CpuTime


@dataclass(frozen=True)
class Verdict:
    """A statement about a run that its reader must know; `code` is the engine's VerdictCode."""

    code: str
    message: str


@dataclass(frozen=True)
class ClientCertificate:
    """The client's own certificate: its key's kind, and its SHA-256 digest in hex."""

    key: str
    sha256: str


@dataclass(frozen=True)
class OpenLoop:
    """What became of an open loop's arrivals: `arrivals` = `started` + `waiting_at_stop`, exactly.

    `blocked` arrivals found no free slot when they were due; rates are connections per second.
    """

    arrivals: int
    started: int
    blocked: int
    waiting_at_stop: int
    offered_per_s: float
    achieved_per_s: float


@dataclass(frozen=True)
class ClientTimes:
    """The times of the connections that one of two clients made: `connections` of them."""

    connections: int
    histograms: Mapping[str, str]
    summaries: Mapping[str, TimeSummary]


@dataclass(frozen=True)
class FlightTimes:
    """Time that connections spent in flight, added up over them, in seconds.

    `within_s` in the measurement; `before_s` before it, by those in flight when it began;
    `troubled_s` and `unfinished_s` since their start, by those that failed or were unexpected, and
    by those in flight at its end. Little's law as an identity: `within_s` + `before_s` = service
    times of the completed connections + `troubled_s` + `unfinished_s`.
    """

    within_s: float
    before_s: float
    troubled_s: float
    unfinished_s: float


@dataclass(frozen=True)
class SlowConnects:
    """`count` connections waited a second or more to connect: their SYN had to be sent again.

    `listen_overflows`: how often a listen queue of this machine overflowed during the run; None
    where the server is on another one.
    """

    count: int = 0
    listen_overflows: int | None = None


@dataclass(frozen=True)
class StartTime:
    """When a measurement began, by two clocks of the generator's machine, in seconds.

    `unix_s` since 1970 in UTC, `monotonic_s` by CLOCK_MONOTONIC.
    """

    unix_s: float
    monotonic_s: float


@dataclass(frozen=True)
class HostPart:
    """One generator's part of a merged record, by the name that it was merged under.

    `start_skew_s` is how much later its measurement began than the first one's.
    """

    name: str
    environment: Mapping[str, Any]
    address: str
    started: StartTime | None
    seconds: float
    connections: int
    outcomes: Outcomes
    requests: int
    cpu: CpuTime
    workers: tuple[WorkerUsage, ...]
    open_loop: OpenLoop | None
    verdicts: tuple[Verdict, ...]
    start_skew_s: float | None = None
    found: HostFound | None = None
    lost: Lost | None = None


@dataclass(frozen=True)
class CommonWindow:
    """The time in which all generators of a merged record were measuring, by their clocks.

    `start_skew_s` is how far their starts are apart; `completed` connections are those of slices
    that lie in the window, `connections_per_s` the sum of the generators' own rates in them; None
    where one has no slice there.
    """

    from_unix_s: float
    seconds: float
    start_skew_s: float
    completed: int
    connections_per_s: float | None


@dataclass(frozen=True)
class StepResult:
    """One step of a measurement in steps; `rate` (connections per second) is None in a closed loop.

    Connections count in the step in which they end.
    """

    connections: int
    rate: float | None
    at_s: float
    seconds: float
    started: int
    completed: int
    failed: Mapping[str, int]
    unexpected: Mapping[str, int]
    requests: int
    cpu: CpuTime
    summaries: Mapping[str, TimeSummary]


@dataclass(frozen=True)
class RunRecord:
    """The record of one run of the engine.

    `histograms` are HdrHistogram V2 in base64, values in nanoseconds, by the names `connect`,
    `handshake`, `established`, `first_byte`, `exchange`, `service`,
    `handshake_full`, `handshake_resumed`, and in an open loop also
    `start_delay`, `response_established`, `response_first_byte`, `response`; `seconds` is the
    length of the measurement, `cpu` that of the engine's workers in it, `concurrency` the mean
    number of connections in flight. `spec` is the specification as it was run, without the
    client's private key; `minimal_client` connections had their handshake from the minimal client.
    `busy`: the share of the time left to them for which the busiest workers computed.
    `clients` has the times apart by the client that made the connections, `library` or `minimal`,
    where there were two. `notes` say what the reader should know beside the verdicts. A merged
    record has `hosts` and `common`. Records of earlier versions have no `flight` and no `started`.
    """

    schema: str
    spec: Mapping[str, Any]
    backend: str
    versions: Mapping[str, str]
    environment: Mapping[str, Any]
    address: str
    preflight: Preflight
    outcomes: Outcomes
    facts: tuple[CountedFacts, ...]
    authenticated: int
    requests: int
    seconds: float
    cpu: CpuTime
    workers: tuple[WorkerUsage, ...]
    bytes: Bytes
    histograms: Mapping[str, str]
    summaries: Mapping[str, TimeSummary]
    intervals: tuple[Interval, ...]
    verdicts: tuple[Verdict, ...]
    server_names: tuple[CountedName, ...] = ()
    client_certificate: ClientCertificate | None = None
    notes: tuple[str, ...] = ()
    minimal_client: int = 0
    open_loop: OpenLoop | None = None
    steps: tuple[StepResult, ...] = ()
    concurrency: float = 0.0
    flight: FlightTimes | None = None
    slow_connects: SlowConnects = field(default_factory=SlowConnects)
    kinds: Kinds = field(default_factory=Kinds)
    confirmed_by: ConfirmedBy = field(default_factory=ConfirmedBy)
    clients: Mapping[str, ClientTimes] = field(default_factory=dict)
    started: StartTime | None = None
    hosts: tuple[HostPart, ...] = ()
    common: CommonWindow | None = None
    busy: float | None = None

    @property
    def load_histograms(self) -> Mapping[str, str]:
        """Histograms of the client that carried the load, the one with the most connections.

        Beside it the library makes one connection in 128, and takes longer over it: in `histograms`
        these are the tail. What is no client's (`start_delay`) is that of all connections.
        """
        carried = self._load_client()
        return {**self.histograms, **carried.histograms} if carried else self.histograms

    @property
    def load_summaries(self) -> Mapping[str, TimeSummary]:
        """The same in short."""
        carried = self._load_client()
        return {**self.summaries, **carried.summaries} if carried else self.summaries

    def _load_client(self) -> ClientTimes | None:
        return max(self.clients.values(), key=lambda each: each.connections, default=None)
