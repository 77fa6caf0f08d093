"""What the probe found of a server, as far as the lab needs it (schema/probe.json)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tlslab.model.trial import Reason


@dataclass(frozen=True)
class Refusal:
    """How a server refuses a handshake: a failure class, and words to follow "the server"."""

    class_: str
    words: str


@dataclass(frozen=True)
class OfferFound:
    """What a server made of one offer."""

    accepted: bool
    refusal: Refusal | None = None


@dataclass(frozen=True)
class ChainFound:
    """A certificate chain that a server has: its key (`ECDSA P-256`), and in which versions."""

    key: str
    versions: tuple[str, ...]


@dataclass(frozen=True)
class ProbeRecord:
    """What was found; `offers` in the order of the specification."""

    offers: tuple[OfferFound, ...]
    certificates: tuple[ChainFound, ...]
    incomplete: str | None = None


@dataclass(frozen=True)
class Probed:
    """What is known of cells before their first trial, by their keys.

    `refused` are those that the server does not go along with, `supported` those that it does; of
    others nothing is known.
    """

    refused: Mapping[str, Reason] = field(default_factory=dict)
    supported: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Named:
    """Something by its name, as IANA or the version of TLS has it."""

    name: str


@dataclass(frozen=True)
class ListFound:
    """What a server accepts in one version, in the order in which it chooses."""

    version: str
    accepted: tuple[Named, ...]


@dataclass(frozen=True)
class VersionFound:
    """Whether a server speaks a version."""

    version: str
    accepted: bool


@dataclass(frozen=True)
class AlpnFound:
    """The protocols that a server selects."""

    accepted: tuple[str, ...]


@dataclass(frozen=True)
class AbilitiesFound:
    """What a server accepts; `offers` in the order of the specification."""

    versions: tuple[VersionFound, ...]
    offers: tuple[OfferFound, ...]
    groups: tuple[ListFound, ...]
    certificates: tuple[ChainFound, ...]
    alpn: AlpnFound | None = None


@dataclass(frozen=True)
class TargetFound:
    """A kind of server on this machine: where, which, on which TLS library, and what it can do.

    `problem` says why it is missing or did not start, `remedy` what to do about that. What it can
    do was seen on a started server that was given all the groups that it takes: `suites` and
    `groups` by version, `keys` its certificates' keys, `alpn` its protocols. `takes` are the
    factors of a deployment that it is set up by, `front` and `behind` whether it can stand before
    another server and, without TLS, behind one.
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
    problem: str | None = None
    remedy: str = ""
