"""What `tlslab validate` compares: a connection's times by the tool and by a packet capture."""

from dataclasses import dataclass
from typing import Literal

SCHEMA = "tlslab.validation/1"

# The times of a connection that both sides see, in the order of a connection.
PHASES = ("connect", "handshake", "first_byte", "close")

# The quantiles that are judged.
QUANTILES = (0.5, 0.99)


@dataclass(frozen=True)
class TracedConnection:
    """One line of the engine's trace; nanoseconds of CLOCK_MONOTONIC, None where not reached."""

    local_port: int | None
    started_ns: int | None
    established_ns: int | None
    secured_ns: int | None
    answered_ns: int | None
    ended_ns: int | None
    outcome: str


@dataclass(frozen=True)
class CapturedConnection:
    """One TCP connection of a capture; nanoseconds of CLOCK_REALTIME, None where not seen.

    `asked_ns` is the client's last data before the response: in TLS 1.3 its Finished and the
    request, in one segment. `answered_ns` is the server's first data after that, `closed_ns` the
    client's first RST or FIN.
    """

    local_port: int
    syn_ns: int
    syn_ack_ns: int | None
    asked_ns: int | None
    answered_ns: int | None
    closed_ns: int | None


@dataclass(frozen=True)
class Resolution:
    """How far an instant that a program reads lies from the packet's own, in microseconds.

    It is measured between two programs that are not the tool, as often in a second as the
    connections that it is for: a processor that sleeps for longer takes longer to wake. At each
    quantile it is the greater of two: what a program waits for a connect beyond the kernel's own
    time from SYN to SYN-ACK; and, of a datagram, from a reading of the clock before it is sent to
    the kernel's stamp, and from there to a reading after the receiver has woken up.
    """

    median_us: float
    p99_us: float
    n: int

    def at(self, quantile: float) -> float:
        """The resolution at one of QUANTILES."""
        return self.median_us if quantile == 0.5 else self.p99_us


CaptureVerdict = Literal["1 %", "resolution", "no", "too few"]


@dataclass(frozen=True)
class Comparison:
    """One quantile of one phase, over the same connections: tool and capture, in milliseconds.

    `ratio` is tool over capture. `agrees` says by what: within 1 %, else within the resolution.
    """

    quantile: float
    tool_ms: float
    capture_ms: float
    ratio: float
    agrees: CaptureVerdict


@dataclass(frozen=True)
class PhaseResult:
    """One phase at one rate; the differences (tool less capture) are of single connections."""

    phase: str
    n: int
    comparisons: tuple[Comparison, ...]
    difference_median_us: float
    difference_p99_us: float


@dataclass(frozen=True)
class RateResult:
    """One rate: what was asked for and reached, in connections/s, and the counts of the match.

    `missing` are connections that the tool completed and the capture lacks; `dropped` are packets
    that the capture lost. Either makes the result invalid.
    """

    rate: float
    achieved: float
    resolution: Resolution
    completed: int
    matched: int
    missing: int
    packets: int
    dropped: int
    phases: tuple[PhaseResult, ...]

    @property
    def valid(self) -> bool:
        """Whether the two saw the same connections."""
        return self.matched > 0 and self.missing == 0 and self.dropped == 0


@dataclass(frozen=True)
class Validation:
    """A whole validation."""

    schema: str
    target: str
    backend: str
    pause_ms: int
    rates: tuple[RateResult, ...]

    @property
    def passed(self) -> bool:
        """Whether every time at every rate agrees, over all connections."""
        comparisons = [c for rate in self.rates for p in rate.phases for c in p.comparisons]
        agree = all(comparison.agrees in ("1 %", "resolution") for comparison in comparisons)
        return bool(comparisons) and agree and all(rate.valid for rate in self.rates)
