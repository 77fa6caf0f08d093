"""The record of one run of the load generator. Made from schema/record.json by `make schema`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Facts:
    """The negotiated facts as names, for records."""

    tls: str  # The protocol version: `1.3`; `none` without TLS, as all facts then are.
    suite: str  # The cipher suite's IANA name.
    group: str
    signature_scheme: str
    kind: str  # `full` or `resumed`; `none` without TLS.
    hello_retry_request: bool  # Whether the server first asked for another key share.
    alpn: str = "none"  # The application protocol; `none` if none was selected.
    resumed_by: str = "none"
    early_data: str = "none"
    client_authenticated: bool = False
    ocsp_response_bytes: int = 0  # The length of the stapled OCSP response in bytes; 0 if none.


@dataclass(frozen=True)
class Certificate:
    """The contents of a server's certificate."""

    subject: str  # The first 256 bytes of the subject's name.
    issuer: str  # The first 256 bytes of the issuer's name.
    key: str  # The kind and size of the key: `ECDSA P-256`, `RSA-2048`, `Ed25519`.
    not_before: int  # Start of validity, seconds since 1970.
    not_after: int  # End of validity, seconds since 1970.
    chain_length: int  # Number of certificates that the server sent.
    chain_bytes: int  # Total size of those certificates in bytes.


@dataclass(frozen=True)
class SessionsGiven:
    """The number of sessions that the server issued on each kind of handshake in the preflight."""

    full: int  # On the full handshake.
    resumed: int  # On the resumed handshake.


@dataclass(frozen=True)
class Preflight:
    """The verified connection before the load."""

    facts: Facts  # The negotiated facts.
    body_bytes: int | None = None  # The length of the response's body in bytes.
    body_sha256: str | None = None
    certificate: Certificate | None = None  # The server's certificate.
    dh_prime: str | None = None
    server: str | None = None  # The first 128 bytes of the response's Server header field.
    sessions: SessionsGiven | None = None
    status: int | None = None  # The status of the response, unless the run is handshake-only.
    streams: int | None = None


@dataclass(frozen=True)
class FailedConnection:
    """One failed connection."""

    local_port: int
    words: str  # Details beyond the reason; may be empty.


@dataclass(frozen=True)
class FailureReason:
    """The number of connections that failed for one reason."""

    class_: str  # The class under which these connections are counted in `failed` or `unexpected`.
    reason: str
    count: int  # Number of connections.
    examples: tuple[FailedConnection, ...] = ()  # The first few of these connections.


@dataclass(frozen=True)
class Outcomes:
    """The accounting over all connections of a measurement."""

    attempts: int  # Connections in flight when the measurement began, and those started during it.
    completed: int  # Connections whose handshake and every response were as specified.
    in_flight_at_stop: int  # Connections that were still in flight when the measurement ended.
    failed: Mapping[str, int]  # Failed connections by class.
    unexpected: Mapping[str, int]
    abandoned: int = 0
    closed_idle: int = 0
    lost_with_host: int = 0
    reasons: tuple[FailureReason, ...] = ()


@dataclass(frozen=True)
class CountedFacts(Facts):
    """A combination of negotiated facts, and the number of connections that had it."""

    count: int = 0  # The number of connections.


@dataclass(frozen=True)
class CpuTime:
    """Processor time in microseconds."""

    user_us: int  # In user space.
    system_us: int  # In the kernel.


@dataclass(frozen=True)
class WorkerUsage:
    """Resources that one worker used during the measurement, and those that it was kept from."""

    cpu: CpuTime  # Processor time of the worker.
    seconds: float  # Length of the worker's measurement in seconds.
    kept_off_s: tuple[float, ...] = ()
    processor: int | None = None  # The processor that the worker was pinned to, if any.
    processor_busy: float | None = None
    queued_s: float | None = None
    stolen: float | None = None
    stopped_s: float = 0.0


@dataclass(frozen=True)
class Bytes:
    """Bytes over the connections that ended in the measurement."""

    handshake_sent: int
    handshake_received: int  # TCP payload received before the handshake was complete.
    sent: int  # TCP payload sent in total.
    received: int  # TCP payload received in total.
    head: int  # Bytes of HTTP response heads received.
    body: int  # Bytes of HTTP response bodies received.


@dataclass(frozen=True)
class TimeSummary:
    """Count, mean, standard deviation and quantiles of a histogram, in milliseconds."""

    n: int  # Number of values.
    min_ms: float  # Smallest value.
    mean_ms: float  # Mean.
    sd_ms: float  # Standard deviation.
    p50_ms: float  # Median.
    p90_ms: float  # 90th percentile.
    p95_ms: float  # 95th percentile.
    p99_ms: float  # 99th percentile.
    p999_ms: float  # 99.9th percentile.
    max_ms: float  # Largest value.


@dataclass(frozen=True)
class Interval:
    """One slice of the measurement."""

    at_s: float  # Start of the slice, in seconds from the start of the measurement.
    seconds: float  # Length of the slice in seconds.
    completed: int  # Connections completed in the slice.
    failed: int  # Connections of the slice that failed, were unexpected or were abandoned.
    cpu: CpuTime  # Processor time of the workers in the slice.


@dataclass(frozen=True)
class Verdict:
    """A statement about whether the numbers of a run may be used."""

    code: str  # The kind of verdict.
    message: str  # The verdict as a sentence, with the figures.


@dataclass(frozen=True)
class ClientCertificate:
    """The client's own certificate."""

    key: str  # The kind and size of the key: `ECDSA P-256`, `RSA-2048`, `Ed25519`.
    sha256: str  # The SHA-256 digest of the certificate, in hex.


@dataclass(frozen=True)
class ClientTimes:
    """The times of the connections of one client."""

    connections: int  # Connections that this client completed.
    histograms: Mapping[str, str]
    summaries: Mapping[str, TimeSummary]  # Summaries of the same histograms.


@dataclass(frozen=True)
class CommonWindow:
    """The time during which all generators of a merged record were measuring."""

    from_unix_s: float  # Start of the window, in seconds since 1970, by the generators' clocks.
    seconds: float  # Length of the window in seconds; 0 if there is none.
    start_skew_s: float  # Time between the earliest and the latest start, in seconds.
    completed: int  # Connections completed in the window.
    connections_per_s: float | None = None


@dataclass(frozen=True)
class ConfirmedBy:
    """Completed connections by `Confirmation`."""

    response: int = 0  # By the connection's first response.
    server_finished: int = 0  # Without a request, TLS 1.2: by the server's Finished.
    close_notify: int = 0  # Without a request: by the server's close_notify.
    ticket: int = 0  # Without a request: by a session ticket, without a close_notify.


@dataclass(frozen=True)
class FlightTimes:
    """Time that connections spent in flight, summed over connections, in seconds."""

    within_s: float  # During the measurement: the integral of the number in flight over time.
    before_s: float
    troubled_s: float
    unfinished_s: float


@dataclass(frozen=True)
class HostClock:
    """A host's CLOCK_MONOTONIC relative to the leader's, estimated from round trips."""

    drift_ppm: float = 0.0
    drift_uncertainty_ppm: float = 0.0  # Uncertainty of `drift_ppm`, in parts per million.
    moved_s: float = 0.0
    offset_s: float = 0.0  # The host's clock minus the leader's before the start, in seconds.
    readings: int = 0  # Number of readings of the offset.
    uncertainty_s: float = 0.0  # Uncertainty of `offset_s`, in seconds.


@dataclass(frozen=True)
class HostFound:
    """Observations about a host by the leader, the process that starts several generators."""

    boot_id: str | None = None  # The boot ID of the running kernel.
    clock: HostClock | None = None  # The host's clock relative to the leader's.
    handshakes_per_s: float | None = None


@dataclass(frozen=True)
class LastTotals:
    """The last report of a lost generator: counts since the start of its measurement."""

    abandoned: int = 0  # Abandoned connections.
    arrivals: int = 0  # Connections started.
    completed: int = 0  # Connections completed.
    failed: Mapping[str, int] = field(default_factory=dict)  # Failed connections by class.
    in_flight: int = 0  # Connections in flight.
    requests: int = 0  # Requests that were answered.
    unexpected: int = 0  # Connections with an unexpected handshake.


@dataclass(frozen=True)
class Lost:
    """The last state of a lost host."""

    reason: str  # How the loss was detected.
    at_s: float
    totals: LastTotals = field(default_factory=LastTotals)  # The last report of the host.


@dataclass(frozen=True)
class Users:
    """The users of an open loop with patience."""

    arrived: int  # Connections in flight when the measurement began, and the arrivals.
    answered_at_first: int  # Users whose first connection completed.
    answered_after_retry: int  # Users of whom a later connection completed.
    gave_up: int  # Users who abandoned their last connection, or waited in vain for one.
    left_waiting: int
    failed: int  # Users whose last connection failed, or had an unexpected handshake.
    unfinished: int  # Users who were still waiting when the measurement ended.
    retries: int  # Connections of users who came back: attempts beyond the offered load.


@dataclass(frozen=True)
class OpenLoop:
    """The accounting of the arrivals of an open loop: `arrivals = started + waiting_at_stop`,
    exactly; with patience, `+ users.left_waiting`.
    """

    arrivals: int
    started: int
    blocked: int  # Arrivals that found no free slot when they were due and had to wait.
    waiting_at_stop: int  # Arrivals that were still waiting when the measurement ended.
    offered_per_s: float  # Offered load, in arrivals a second.
    achieved_per_s: float  # Achieved rate, in started connections a second.
    users: Users | None = None  # With patience: how the users fared.


@dataclass(frozen=True)
class StartTime:
    """The start of a measurement by two clocks of the generator's machine, in seconds."""

    unix_s: float  # Seconds since 1970 UTC (CLOCK_REALTIME), with a precision of one microsecond.
    monotonic_s: float  # CLOCK_MONOTONIC, the clock of all times in a record.


@dataclass(frozen=True)
class Supply:
    """What the machine let the generator use."""

    processors: int | None = None
    quota: float | None = None
    suspended_s: float = 0.0  # Seconds for which the machine was suspended during the measurement.
    throttled_s: float | None = None


@dataclass(frozen=True)
class HostPart:
    """One generator's part of a merged record."""

    name: str  # The name of the generator in the merge.
    environment: Mapping[str, Any]  # The machine of the generator.
    address: str  # The address that the generator connected to.
    seconds: float  # The length of the measurement in seconds.
    connections: int  # The generator's limit of connections in flight.
    outcomes: Outcomes  # The accounting of the generator's connections.
    requests: int  # Answered requests on this generator's connections.
    cpu: CpuTime  # Processor time of the generator's workers.
    workers: tuple[WorkerUsage, ...]
    verdicts: tuple[Verdict, ...]
    found: HostFound | None = None  # Observations of the leader about the host.
    lost: Lost | None = None
    open_loop: OpenLoop | None = None  # In an open loop: the accounting of the arrivals.
    start_skew_s: float | None = None
    started: StartTime | None = None  # The start of the generator's measurement.
    supply: Supply = field(default_factory=Supply)  # What the machine let the generator use.


@dataclass(frozen=True)
class Kinds:
    """Completed connections by kind of handshake, and the counts of priming."""

    full: int = 0  # Full handshakes.
    resumed: int = 0  # Handshakes that resumed an earlier session.
    early_data_accepted: int = 0  # Resumed handshakes whose early data the server accepted.
    early_data_rejected: int = 0  # Resumed handshakes whose early data the server rejected.
    primed_connections: int = 0
    primed_sessions: int = 0  # Sessions available for resumption at the end of priming.
    refill_connections: int = 0


@dataclass(frozen=True)
class RoundTrips:
    """Completed connections by kind of handshake and number of round trips."""

    full: Mapping[str, int] = field(default_factory=dict)
    resumed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class CountedName:
    """A server name with the outcomes of the connections that asked for it."""

    name: str  # The name as given in the specification.
    completed: int  # Completed connections.
    failed: int  # Failed connections.
    unexpected: int  # Connections with an unexpected handshake.
    abandoned: int = 0  # Abandoned connections.


@dataclass(frozen=True)
class SlowConnects:
    """Connections that took a second or more to connect, which means that their SYN was
    retransmitted.
    """

    count: int = 0
    listen_overflows: int | None = None


@dataclass(frozen=True)
class StepResult:
    """One step of a measurement in steps."""

    connections: int  # Limit of connections in flight.
    at_s: float  # Start of the step, in seconds from the start of the measurement.
    seconds: float  # Length of the step in seconds.
    started: int  # Connections started in the step.
    completed: int  # Connections completed in the step.
    failed: Mapping[str, int]  # Connections failed in the step, by class.
    unexpected: Mapping[str, int]
    requests: int  # Requests answered in the step.
    cpu: CpuTime  # Processor time of the workers in the step.
    summaries: Mapping[str, TimeSummary]  # Summaries of the histograms of the step.
    abandoned: int = 0  # Connections abandoned in the step.
    rate: float | None = None  # Offered load in new connections a second; open loop only.


@dataclass(frozen=True)
class CountedUrl:
    """One of several URLs, with its requests."""

    path: str  # Path and query, as given in the specification.
    requests: int  # Requests with a complete response and an expected status.
    failed: int  # Connections that failed while this URL was requested.
    exchange: TimeSummary | None = None
    histogram: str | None = None


@dataclass(frozen=True)
class RunRecord:
    """The record of one run of the load generator."""

    schema: str  # The record format, `tlslab.record/1`.
    spec: Mapping[str, Any]  # The specification of the run.
    backend: str  # The TLS back end that made the handshakes: `rustls` or `openssl`.
    versions: Mapping[str, str]
    environment: Mapping[str, Any]  # The machine that the generator ran on.
    address: str  # The address that was connected to.
    preflight: Preflight  # The verified connection that is made before the load begins.
    outcomes: Outcomes  # The accounting over all connections.
    facts: tuple[CountedFacts, ...]
    authenticated: int
    requests: int  # Requests with a complete response and an expected status (2xx by default).
    seconds: float  # The length of the measurement in seconds, mean over the workers.
    cpu: CpuTime  # Processor time of the workers during the measurement.
    workers: tuple[WorkerUsage, ...]
    bytes: Bytes  # Bytes over all completed connections.
    histograms: Mapping[str, str]
    summaries: Mapping[str, TimeSummary]  # Summaries of the same histograms.
    intervals: tuple[Interval, ...]  # The slices of the measurement, in order.
    verdicts: tuple[Verdict, ...]  # Statements that decide whether the numbers may be used.
    busy: float | None = None
    client_certificate: ClientCertificate | None = None
    client_fallback: str | None = None
    clients: Mapping[str, ClientTimes] = field(default_factory=dict)
    common: CommonWindow | None = None
    concurrency: float = 0.0  # Connections in flight, mean over the measurement.
    confirmed_by: ConfirmedBy = field(default_factory=ConfirmedBy)
    flight: FlightTimes | None = None  # Time that connections spent in flight.
    hosts: tuple[HostPart, ...] = ()  # In a merged record: the part of each generator.
    kinds: Kinds = field(default_factory=Kinds)
    minimal_client: int = 0
    notes: tuple[str, ...] = ()  # Unusual but legitimate observations about the run.
    open_loop: OpenLoop | None = None  # In an open loop: the accounting of the arrivals.
    round_trips: RoundTrips = field(default_factory=RoundTrips)
    server_names: tuple[CountedName, ...] = ()
    slow_connects: SlowConnects = field(default_factory=SlowConnects)
    started: StartTime | None = None  # The start of the measurement.
    statuses: Mapping[str, int] = field(default_factory=dict)
    steps: tuple[StepResult, ...] = ()  # The steps of a measurement in steps, in order.
    supply: Supply = field(default_factory=Supply)  # What the machine let the generator use.
    urls: tuple[CountedUrl, ...] = ()
