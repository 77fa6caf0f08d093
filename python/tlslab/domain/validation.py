"""The comparison of `tlslab validate`: a connection's times by the tool and by a packet capture."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tlslab.domain.wording import counted, figure

SCHEMA = "tlslab.validation/1"

# The times of a connection that both sides observe, in chronological order.
PHASES = ("connect", "handshake", "first_byte", "close")

# The claim: tool and capture differ by no more than this share of a time. The tool of the published
# capacity study was within 2.3 %; this limit is stricter.
TOLERANCE = 0.01

# The quantiles that are judged.
QUANTILES = (0.5, 0.99)


@dataclass(frozen=True)
class TracedConnection:
    """One line of the engine's trace; nanoseconds of CLOCK_MONOTONIC, None if not reached."""

    local_port: int | None
    started_ns: int | None
    established_ns: int | None
    secured_ns: int | None
    answered_ns: int | None
    ended_ns: int | None
    outcome: str


@dataclass(frozen=True)
class CapturedConnection:
    """One TCP connection of a capture; nanoseconds of CLOCK_REALTIME, None if not seen.

    `asked_ns`: the client's last data before the response; in TLS 1.3 its Finished and the request,
    in one segment. `answered_ns`: the server's first data after that. `closed_ns`: the client's
    first RST or FIN.
    """

    local_port: int
    syn_ns: int
    syn_ack_ns: int | None
    asked_ns: int | None
    answered_ns: int | None
    closed_ns: int | None


@dataclass(frozen=True)
class Resolution:
    """The distance between an instant that a program reads and the packet's own, in microseconds.

    The resolution is measured between two programs other than the tool, at the rate of the
    connections to be judged: a processor that sleeps for longer takes longer to wake. At each
    quantile it is the greater of two times. The first: how much longer a program waits for a
    connect than the kernel's own time from SYN to SYN-ACK. The second, for a datagram: the time
    from a reading of the clock before the send to the kernel's stamp, plus the time from the stamp
    to a reading after the receiver has woken up.
    """

    median_us: float
    p99_us: float
    n: int

    def at(self, quantile: float) -> float:
        """The resolution at one of QUANTILES."""
        return self.median_us if quantile == 0.5 else self.p99_us


CaptureVerdict = Literal["1 %", "resolution", "no", "too few"]

# The possible judgements on a time; `too_short`: the claim is finer than the resolution.
Judgement = Literal["agrees", "too_short", "differs", "too_few"]


@dataclass(frozen=True)
class Comparison:
    """One quantile of one phase, over the same connections: tool and capture, in milliseconds.

    `ratio` is tool over capture. `agrees`: the criterion that is met, within 1 %, else within the
    resolution. `judged` takes the resolution into account.
    """

    quantile: float
    tool_ms: float
    capture_ms: float
    ratio: float
    agrees: CaptureVerdict

    def judged(self, resolution: Resolution) -> Judgement:
        """`too_short` if the resolution is coarser than the claim, whatever the difference is.

        A time that differs by more than the resolution differs, however short it is.
        """
        match self.agrees:
            case "no":
                return "differs"
            case "too few":
                return "too_few"
            case "resolution":
                return "too_short"
        coarse = resolution.at(self.quantile) > TOLERANCE * self.capture_ms * 1000
        return "too_short" if coarse else "agrees"


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
    """One rate: requested and achieved, in connections/s, and the counts of the match.

    `missing`: connections that the tool completed and the capture lacks. `dropped`: packets that
    the capture lost. Either makes the result invalid.
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
    def judgements(self) -> tuple[Judgement, ...]:
        """The judgement on each time."""
        return tuple(c.judged(self.resolution) for p in self.phases for c in p.comparisons)

    @property
    def valid(self) -> bool:
        """Whether tool and capture saw the same connections."""
        return not self.why_invalid

    @property
    def why_invalid(self) -> str:
        """The reason that tool and capture did not see the same connections; empty if they did."""
        if self.dropped:
            return "packets were lost"
        if self.missing:
            return "connections are not in the capture"
        return "" if self.matched else "no connection was compared"


@dataclass(frozen=True)
class Validation:
    """A whole validation. `delay_ms`: the round-trip time of the path to the server."""

    schema: str
    target: str
    backend: str
    pause_ms: int
    rates: tuple[RateResult, ...]
    delay_ms: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether times were judged and no time at any rate differs, over all connections."""
        found = valid_judgements(self.rates)
        fine = all(judgement in ("agrees", "too_short") for judgement in found)
        return bool(found) and fine and all(rate.valid for rate in self.rates)


JUDGEMENT_WORDS: dict[Judgement, str] = {
    "agrees": "within 1 %",
    "too_short": "too short to judge",
    "differs": "differs",
    "too_few": "too few",
}


# The verbs for one time, and for several.
_VERBS: dict[Judgement, tuple[str, str]] = {
    "agrees": ("agrees within 1 %", "agree within 1 %"),
    "differs": ("differs", "differ"),
    "too_few": ("is of too few connections", "are of too few connections"),
    "too_short": (
        "is too short to judge: the machine's resolution is coarser",
        "are too short to judge: the machine's resolution is coarser",
    ),
}


def valid_judgements(results: Iterable[RateResult]) -> tuple[Judgement, ...]:
    """The judgements on all times of the valid results."""
    return tuple(judgement for each in results if each.valid for judgement in each.judgements)


def results_words(results: Sequence[RateResult]) -> str:
    """The number of times of valid results that agree, and the invalid loads with the reasons.

    `6 of 8 times agree within 1 %, 2 differ; 1 load is invalid (50.0/s): packets were lost`.
    """
    found = valid_judgements(results)
    words = [judgements_words(found)] if found else ["no time was compared"]
    by_reason: dict[str, list[str]] = {}
    for each in results:
        if not each.valid:
            by_reason.setdefault(each.why_invalid, []).append(f"{figure(each.rate)}/s")
    for reason, rates in by_reason.items():
        verb = "is" if len(rates) == 1 else "are"
        words.append(f"{counted(len(rates), 'load')} {verb} invalid ({', '.join(rates)}): {reason}")
    return "; ".join(words)


def judged_words(comparison: Comparison, result: RateResult) -> str:
    """The judgement on one time; `invalid` if tool and capture did not see the same connections."""
    return JUDGEMENT_WORDS[comparison.judged(result.resolution)] if result.valid else "invalid"


def judgements_words(found: Sequence[Judgement]) -> str:
    """The numbers of times that agree, differ, ...: `3 of 8 times agree within 1 %, ...`."""
    counts = Counter(found)
    words = [f"{counts['agrees']} of {counted(len(found), 'time')} {_verb('agrees', counts)}"]
    others: tuple[Judgement, ...] = ("differs", "too_few", "too_short")
    words += [f"{counts[each]} {_verb(each, counts)}" for each in others if counts[each]]
    return ", ".join(words)


def _verb(judgement: Judgement, counts: Mapping[Judgement, int]) -> str:
    one, several = _VERBS[judgement]
    return one if counts[judgement] == 1 else several
