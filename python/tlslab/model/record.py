"""What happened in one run of the engine, and in one trial of the lab.

`RunRecord` and its parts follow the engine's wire format (`schema/record.json`); times are in
microseconds or seconds as the name says, bytes are TCP payload.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tlslab.model.benchmark import BenchmarkRun, Mode, Timeline
from tlslab.model.server_side import PackageEnergy, ServerSide, Source
from tlslab.model.validation import RateResult

TrialStatus = Literal["done", "unsupported", "failed"]
RunKind = Literal[
    "capacity", "client_cost", "keep_alive", "warm_up", "search", "maximum", "load", "remedy"
]


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
class Facts:
    """What a handshake negotiated, in the names of records; `group` is None for static RSA.

    `client_authenticated`: the server asked for a certificate, and the client showed one.
    `resumed_by` is `none`, `id`, `ticket`, `psk` or `psk-only`; `early_data` is `none`, `accepted`
    or `rejected`. `ocsp_response_bytes` is the length of the stapled OCSP response, 0 for none.
    """

    tls: str
    suite: str
    group: str | None
    signature_scheme: str | None
    kind: str
    hello_retry_request: bool
    alpn: str | None = None
    client_authenticated: bool = False
    resumed_by: str = "none"
    early_data: str = "none"
    ocsp_response_bytes: int = 0


@dataclass(frozen=True)
class CountedFacts(Facts):
    """Facts, and how many connections had them."""

    count: int = 0


@dataclass(frozen=True)
class Certificate:
    """What the server's certificate says; the strings are the server's, and hostile."""

    subject: str
    issuer: str
    key: str
    not_before: int
    not_after: int
    chain_length: int
    chain_bytes: int


@dataclass(frozen=True)
class SessionsGiven:
    """The sessions to resume that came with each kind of handshake in the preflight."""

    full: int
    resumed: int


@dataclass(frozen=True)
class Preflight:
    """The one connection made before the load; `server` is the Server header, and hostile.

    `body_sha256` is the body's digest in hexadecimal, where bodies were checked by it; `sessions`
    is None where nothing was to be resumed.
    """

    facts: Facts
    certificate: Certificate | None
    status: int | None
    body_bytes: int | None
    server: str | None
    body_sha256: str | None = None
    sessions: SessionsGiven | None = None


@dataclass(frozen=True)
class FailedConnection:
    """One connection that failed: its port on the generator's side, and what else is known of it.

    The words may be the server's, and hostile.
    """

    local_port: int
    words: str


@dataclass(frozen=True)
class FailureReason:
    """How many connections of a class failed for one reason, the first few as examples."""

    class_: str
    reason: str
    count: int
    examples: tuple[FailedConnection, ...] = ()


@dataclass(frozen=True)
class Outcomes:
    """The accounting over all connections of a measurement.

    `reasons` say more of the classes in `failed` and `unexpected`: where a class is among them, the
    counts of its reasons add up to its own.
    """

    attempts: int
    completed: int
    in_flight_at_stop: int
    failed: Mapping[str, int]
    unexpected: Mapping[str, int]
    reasons: tuple[FailureReason, ...] = ()

    @property
    def failures(self) -> int:
        """All failed connections."""
        return sum(self.failed.values())

    @property
    def mismatches(self) -> int:
        """All connections whose handshake was not the one asked for."""
        return sum(self.unexpected.values())

    @property
    def balanced(self) -> bool:
        """Whether attempts = completed + failed + unexpected + in flight, exactly.

        And whether the reasons of each class that has any add up to it.
        """
        ended = self.completed + self.failures + self.mismatches
        counts = {**self.unexpected, **self.failed}
        explained = {each.class_ for each in self.reasons}
        whole = all(
            sum(each.count for each in self.reasons_of(name)) == counts.get(name, 0)
            for name in explained
        )
        return whole and self.attempts == ended + self.in_flight_at_stop

    def reasons_of(self, class_: str) -> tuple[FailureReason, ...]:
        """The reasons of a class, most frequent first."""
        return tuple(each for each in self.reasons if each.class_ == class_)


@dataclass(frozen=True)
class Kinds:
    """Completed connections by the kind of their handshake, and what priming took.

    `primed_connections` are full handshakes made before the warm-up, `refill_connections` those
    made beside the load where a server gives no ticket on resumed connections, and counted nowhere
    else.
    """

    full: int = 0
    resumed: int = 0
    early_data_accepted: int = 0
    early_data_rejected: int = 0
    primed_connections: int = 0
    primed_sessions: int = 0
    refill_connections: int = 0


@dataclass(frozen=True)
class WorkerUsage:
    """What one worker of the engine used during the measurement."""

    processor: int | None
    cpu: CpuTime
    seconds: float


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
class CountedName:
    """A server name of several that connections took in turn, and how those ended."""

    name: str
    completed: int
    failed: int
    unexpected: int


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
    """One generator's part of a merged record, by the name that it was merged under."""

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
    clients: Mapping[str, ClientTimes] = field(default_factory=dict)
    started: StartTime | None = None
    hosts: tuple[HostPart, ...] = ()
    common: CommonWindow | None = None

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


@dataclass(frozen=True)
class CpuSample:
    """Processor time used since the start of the measurement, at `at_s` seconds from it."""

    at_s: float
    user_us: int
    system_us: int


@dataclass(frozen=True)
class ServerUsage:
    """What the server used during the measurement, in most cases its process tree.

    `memory_bytes` is its proportional set size (or, where the kernel hides that, its resident size)
    at the end, None where only the machine is known; `handshakes` is the server's own count of full
    handshakes, where it keeps one. `source` says where the processor time is from; `error_us` and
    `bias_us` are those of `SourceTime`.
    """

    user_us: int
    system_us: int
    seconds: float
    memory_bytes: int | None
    processes: int
    samples: tuple[CpuSample, ...] = ()
    handshakes: int | None = None
    source: Source = "started"
    error_us: int = 0
    bias_us: int = 0


@dataclass(frozen=True)
class ProcessorUsage:
    """What one processor of the machine did, as fractions of the measurement."""

    busy: float
    user: float
    system: float
    softirq: float
    steal: float
    irq: float = 0.0


@dataclass(frozen=True)
class MachineSample:
    """The whole machine's processor time since the start of the measurement."""

    at_s: float
    user_us: int
    system_us: int
    idle_us: int


@dataclass(frozen=True)
class MachineUsage:
    """What the whole machine did during the measurement, in microseconds over all processors.

    `energy` is that of its processor packages; `no_energy` says why there is none.
    """

    seconds: float
    user_us: int
    system_us: int
    idle_us: int
    softirq_us: int
    steal_us: int
    per_processor: tuple[ProcessorUsage, ...] = ()
    samples: tuple[MachineSample, ...] = ()
    energy: tuple[PackageEnergy, ...] = ()
    no_energy: str = ""


@dataclass(frozen=True)
class PaceSample:
    """A second of a run, at `at_s` from its first: rates, connections in flight, failures so far.

    Warm-up and drain are in it. Times are service times of that second, None without any.
    """

    at_s: float
    connections_per_s: float
    in_flight: int
    failed: int
    service_p50_ms: float | None = None
    service_p99_ms: float | None = None


@dataclass(frozen=True)
class TrialRun:
    """One engine run of a trial; `server` is None where its processor time is not known.

    `pace` is how it went over time, where that was kept. `side` has all sources of the server's
    processor time, of a server that the lab did not start.
    """

    record: RunRecord
    machine: MachineUsage
    server: ServerUsage | None = None
    pace: tuple[PaceSample, ...] = ()
    side: ServerSide | None = None


@dataclass(frozen=True)
class Reason:
    """Why a trial has no runs; `class_` is a failure class of the engine or of the lab."""

    class_: str
    message: str


@dataclass(frozen=True)
class Trial:
    """One trial: a cell's two runs, or the reason why they are not there.

    `trial`, `block`, `position` and `cell` are those of the plan; `started` is ISO 8601 in UTC.
    `validation` is what a packet capture beside the run said of its times, where one was made.
    Trials of the kind `benchmark` have `benchmarks` or a `timeline` in place of runs.
    """

    trial: int
    block: int
    position: int
    cell: str
    factors: Mapping[str, str]
    started: str
    status: TrialStatus
    reason: Reason | None = None
    runs: Mapping[RunKind, TrialRun] = field(default_factory=dict)
    validation: RateResult | None = None
    benchmarks: Mapping[Mode, BenchmarkRun] = field(default_factory=dict)
    timeline: Timeline | None = None
