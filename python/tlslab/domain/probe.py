"""The probe's result for a server, as far as the lab needs it (schema/probe.json)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tlslab.domain.trial import Reason


@dataclass(frozen=True)
class Refusal:
    """A server's refusal of a handshake: a failure class, and words to follow "the server"."""

    class_: str
    words: str


@dataclass(frozen=True)
class Unanswered:
    """A question that the server did not answer: what it asks for is not known."""

    topic: str
    question: str
    refusal: Refusal

    @property
    def words(self) -> str:
        """`asked for TLS 1.2, the server gave no answer in 5 s, nor in 15 s`."""
        return f"asked for {self.question}, the server {self.refusal.words}"


@dataclass(frozen=True)
class OfferFound:
    """A server's response to one offer; None: it did not answer."""

    accepted: bool | None
    refusal: Refusal | None = None


@dataclass(frozen=True)
class ChainFound:
    """A certificate chain of a server: its key (`ECDSA P-256`), and the versions that serve it."""

    key: str
    versions: tuple[str, ...]


@dataclass(frozen=True)
class ProbeRecord:
    """The result of a probe; `offers` in the order of the specification."""

    offers: tuple[OfferFound, ...]
    certificates: tuple[ChainFound, ...]
    incomplete: str | None = None
    unanswered: tuple[Unanswered, ...] = ()


@dataclass(frozen=True)
class Probed:
    """Knowledge about cells before their first trial, by their keys.

    `refused`: cells that the server does not support; `supported`: cells that it does. Nothing is
    known about the others.
    """

    refused: Mapping[str, Reason] = field(default_factory=dict)
    supported: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Named:
    """An item with its name: IANA's, or that of a TLS version."""

    name: str


@dataclass(frozen=True)
class ListFound:
    """The items that a server accepts in one version, in the server's order of preference."""

    version: str
    accepted: tuple[Named, ...]


@dataclass(frozen=True)
class VersionFound:
    """Whether a server speaks a version; None: not known."""

    version: str
    accepted: bool | None


@dataclass(frozen=True)
class AlpnFound:
    """The protocols that a server selects."""

    accepted: tuple[str, ...]


@dataclass(frozen=True)
class AbilitiesFound:
    """Everything that a server accepts; `offers` in the order of the specification."""

    versions: tuple[VersionFound, ...]
    offers: tuple[OfferFound, ...]
    groups: tuple[ListFound, ...]
    certificates: tuple[ChainFound, ...]
    alpn: AlpnFound | None = None
    incomplete: str | None = None
    unanswered: tuple[Unanswered, ...] = ()


@dataclass(frozen=True)
class TargetFound:
    """A kind of server on this machine: its place, program, TLS library and abilities.

    `problem` says why the server is missing or did not start, `remedy` what to do. The abilities
    were observed on a started server that was given all groups that it takes: `suites` and `groups`
    by version, `keys` of its certificates, `alpn` protocols. `takes`: the factors of a deployment
    that configure the server. `front`: it can stand in front of another server; `behind`: it can
    stand, without TLS, behind one. `unknown`: the abilities that were not observed, and why.
    """

    name: str
    takes: tuple[str, ...]
    front: bool
    behind: bool
    program: str | None = None
    software: str | None = None
    backend: str | None = None
    versions: tuple[str, ...] = ()
    suites: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    alpn: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    problem: str | None = None
    remedy: str = ""
