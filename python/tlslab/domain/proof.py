"""The result of a proof: what was found, figures, clients, policies and the verdict."""

from dataclasses import dataclass
from typing import Literal

from tlslab.contract.probe import ProbeRecord
from tlslab.contract.record import Facts
from tlslab.domain.estimate import Estimate
from tlslab.domain.grading import Outcome
from tlslab.domain.proof_settings import Measure, ProofSettings

Direction = Literal["gain", "loss", "equal", "open"]
ProofVerdict = Literal["deploy", "no_difference", "do_not", "cannot_tell"]


@dataclass(frozen=True)
class SeenTls:
    """The observed behaviour of a configuration before the first trial.

    `offered`: the complete offer. `facts`: the facts of one verified connection of the measured
    client. `resume`: how that client resumes its sessions (None: it cannot). `backend`: the TLS
    library that makes its connections here.
    """

    name: str
    offered: ProbeRecord
    facts: Facts
    resume: str | None
    backend: str

    def round_trips(self, returning: bool) -> int:
        """Round trips of a handshake before its request (RFC 8446, 2; RFC 5246, 7.3)."""
        resumes = returning and self.resume is not None
        if self.facts.tls == "1.3":
            return 1 if resumes else 1 + self.facts.hello_retry_request
        return 1 if resumes else 2


@dataclass(frozen=True)
class ProofFigure:
    """A ratio of the two configurations, and its meaning.

    `before` and `after` are the values. `better`: how many times as good the candidate is, above 1
    for a higher rate and for a lower cost. `low` and `high` hold jointly with those of all other
    ratios of the proof (95 % over the family); `own_low` and `own_high` are the 95 % interval of
    this ratio alone. `decides`: the ratio decides the verdict. `why_open`: the reason that the
    ratio establishes nothing; `no_result`: a side has none. `no_loss`: a loss beyond the margin is
    excluded.
    """

    measure: Measure
    estimate: str
    before: Estimate
    after: Estimate
    better: float
    low: float | None
    high: float | None
    own_low: float | None
    own_high: float | None
    n: int
    method: str
    direction: Direction
    decides: bool
    why_open: str = ""
    no_loss: bool = False
    no_result: bool = False


@dataclass(frozen=True)
class ClientChange:
    """A known client before and after; `wanted`: losing it counts against the candidate."""

    client: str
    before: Outcome
    after: Outcome
    wanted: bool = True
    excused: str = ""

    @property
    def lost(self) -> bool:
        """Whether the client connects with the baseline only."""
        return self.before.connects and not self.after.connects

    @property
    def won(self) -> bool:
        """Whether the client connects with the candidate only."""
        return self.after.connects and not self.before.connects

    @property
    def negotiates(self) -> tuple[tuple[str | None, ...], tuple[str | None, ...]]:
        """Version, suite, group and key, before and after."""
        first, second = (
            (each.version, each.suite, each.group, each.key) for each in (self.before, self.after)
        )
        return first, second

    @property
    def differs(self) -> bool:
        """Whether the client is lost or won, or negotiates something else."""
        first, second = self.negotiates
        return self.lost or self.won or (self.after.connects and first != second)


@dataclass(frozen=True)
class PolicyChange:
    """A policy's objections to each configuration: the number of offered items that it objects
    to.
    """

    policy: str
    before: int
    after: int


@dataclass(frozen=True)
class RoundTrips:
    """Round trips of the handshakes of the measured client: baseline, candidate.

    Of TLS 1.2 without False Start (RFC 7918), which the lab's clients do not have.
    """

    new: tuple[int, int]
    returning: tuple[int, int]

    @property
    def saved(self) -> bool:
        """Whether the candidate takes fewer for some clients, and more for none."""
        pairs = (self.new, self.returning)
        return any(after < before for before, after in pairs) and all(a <= b for b, a in pairs)


@dataclass(frozen=True)
class Proof:
    """The result: figures, clients, policies, and the verdict with its reasons.

    `trade_off`: the verdict is `do_not`, no policy forbids the candidate, and something speaks for
    it: a gain, or a handshake with fewer round trips. `trips`: those of a new and of a returning
    client's handshake, before and after; None if the connections were not seen.
    """

    settings: ProofSettings
    figures: tuple[ProofFigure, ...]
    verdict: ProofVerdict
    reasons: tuple[str, ...] = ()
    clients: tuple[ClientChange, ...] = ()
    policies: tuple[PolicyChange, ...] = ()
    trade_off: bool = False
    trips: RoundTrips | None = None
