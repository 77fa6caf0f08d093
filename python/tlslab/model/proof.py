"""Whether a configuration is better than the present one: what is asked, found and concluded."""

from dataclasses import dataclass
from typing import Literal

from tlslab.model.configuration import Configuration
from tlslab.model.grading import Outcome
from tlslab.model.offered import Offered
from tlslab.model.record import Facts

# Who connects: full handshakes, and handshakes that resume a session where the server lets them.
NEW = "new"
RETURNING = "returning"

Measure = Literal["new", "returning", "requests", "handshake"]
Direction = Literal["gain", "loss", "equal", "open"]
ProofVerdict = Literal["deploy", "no_difference", "do_not", "cannot_tell"]


@dataclass(frozen=True)
class ProofSettings:
    """What a proof compares.

    `server` is the managed target or empty for a live server; `client` the known client whose
    handshakes are measured; `margin` the largest difference that counts as none, as a share;
    `may_lose` names known clients that may stay away. `apply` and `revert` are the commands that
    switch a live server; `configurations` has baseline and candidate of a managed one.
    """

    server: str
    client: str
    margin: float
    configurations: tuple[Configuration, ...] = ()
    may_lose: tuple[str, ...] = ()
    apply: str = ""
    revert: str = ""

    def configuration(self, name: str) -> Configuration | None:
        """The configuration of that name; None for a live server."""
        return next((each for each in self.configurations if each.name == name), None)


@dataclass(frozen=True)
class Found:
    """What a configuration was seen to do before the first trial.

    `offered` is all that it offers. `facts` are those of one verified connection of the client that
    is measured, `resume` how that client resumes its sessions (None: it cannot).
    """

    name: str
    offered: Offered
    facts: Facts
    resume: str | None


@dataclass(frozen=True)
class ProofFigure:
    """A ratio candidate / baseline, and what it says.

    `better` is the ratio as an improvement: how many times as good the candidate is. Its `low` and
    `high` hold together with those of all other figures of the proof (95 % over the family);
    `own_low` and `own_high` are the 95 % interval of this ratio alone. `decides`: the verdict looks
    at it. `bound` says which side is a lower bound: then the ratio is one, too.
    """

    measure: Measure
    estimate: str
    baseline: str
    candidate: str
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


@dataclass(frozen=True)
class ClientChange:
    """A known client before and after; `wanted`: losing it speaks against the candidate."""

    client: str
    before: Outcome
    after: Outcome
    wanted: bool = True
    excused: str = ""

    @property
    def lost(self) -> bool:
        """Whether it connects with the baseline only."""
        return self.before.connects and not self.after.connects

    @property
    def won(self) -> bool:
        """Whether it connects with the candidate only."""
        return self.after.connects and not self.before.connects

    @property
    def negotiates(self) -> tuple[tuple[str | None, ...], tuple[str | None, ...]]:
        """Version, suite, group and key, before and after."""
        first, second = (
            (each.version, each.suite, each.group, each.key) for each in (self.before, self.after)
        )
        return first, second


@dataclass(frozen=True)
class PolicyChange:
    """What a policy objects to in each configuration: counts of things that are offered."""

    policy: str
    before: int
    after: int


@dataclass(frozen=True)
class Proof:
    """The result: figures, clients, policies, and the verdict with its reasons."""

    settings: ProofSettings
    found: tuple[Found, ...]
    figures: tuple[ProofFigure, ...]
    verdict: ProofVerdict
    reasons: tuple[str, ...] = ()
    clients: tuple[ClientChange, ...] = ()
    policies: tuple[PolicyChange, ...] = ()
