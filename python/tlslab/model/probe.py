"""What the probe told of a server, as far as the lab needs it (schema/probe.json)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tlslab.model.record import Reason


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
