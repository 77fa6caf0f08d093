"""What `tlslab validate` compares: a connection's times by the tool and by a packet capture."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tlslab.model.wording import counted, figure

SCHEMA = "tlslab.validation/1"

# The times of a connection that both sides see, in the order of a connection.
PHASES = ("connect", "handshake", "first_byte", "close")

# The claim: tool and capture differ by no more than this share of a time. The tool of the published
# capacity study was within 2.3 %; this limit is stricter.
TOLERANCE = 0.01

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

# What may be said of a time: `too_short` where the claim is finer than the resolution.
Judgement = Literal["agrees", "too_short", "differs", "too_few"]


@dataclass(frozen=True)
class Comparison:
    """One quantile of one phase, over the same connections: tool and capture, in milliseconds.

    `ratio` is tool over capture. `agrees` says by what: within 1 %, else within the resolution.
    `judged` says what that is worth.
    """

    quantile: float
    tool_ms: float
    capture_ms: float
    ratio: float
    agrees: CaptureVerdict

    def judged(self, resolution: Resolution) -> Judgement:
        """`too_short` where the resolution is coarser than the claim, whatever the difference is.

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
    def judgements(self) -> tuple[Judgement, ...]:
        """What may be said of each of its times."""
        return tuple(c.judged(self.resolution) for p in self.phases for c in p.comparisons)

    @property
    def valid(self) -> bool:
        """Whether the two saw the same connections."""
        return not self.why_invalid

    @property
    def why_invalid(self) -> str:
        """What kept the two from seeing the same connections; empty where they did."""
        if self.dropped:
            return "packets were lost"
        if self.missing:
            return "connections are not in the capture"
        return "" if self.matched else "no connection was compared"


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
        """Whether no time at any rate differs, over all connections; some are there to judge."""
        found = valid_judgements(self.rates)
        fine = all(judgement in ("agrees", "too_short") for judgement in found)
        return bool(found) and fine and all(rate.valid for rate in self.rates)


JUDGEMENT_WORDS: dict[Judgement, str] = {
    "agrees": "within 1 %",
    "too_short": "too short to judge",
    "differs": "differs",
    "too_few": "too few",
}


# What is said of one time, and of several.
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
    """What may be said of each time of the valid results."""
    return tuple(judgement for each in results if each.valid for judgement in each.judgements)


def results_words(results: Sequence[RateResult]) -> str:
    """How many times of valid results agree, and which loads are invalid, with the reasons.

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
    """What is said of one time; `invalid` where the two did not see the same connections."""
    return JUDGEMENT_WORDS[comparison.judged(result.resolution)] if result.valid else "invalid"


def judgements_words(found: Sequence[Judgement]) -> str:
    """How many times agree, differ, or are too short: `3 of 8 times agree within 1 %, ...`."""
    counts = Counter(found)
    words = [f"{counts['agrees']} of {counted(len(found), 'time')} {_verb('agrees', counts)}"]
    others: tuple[Judgement, ...] = ("differs", "too_few", "too_short")
    words += [f"{counts[each]} {_verb(each, counts)}" for each in others if counts[each]]
    return ", ".join(words)


def _verb(judgement: Judgement, counts: Mapping[Judgement, int]) -> str:
    one, several = _VERBS[judgement]
    return one if counts[judgement] == 1 else several
