"""The probe's result for a server (schema/probe.json), as far as grading needs it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from tlslab.domain.doubt import doubt_words
from tlslab.domain.probe import Refusal, Unanswered, VersionFound

T = TypeVar("T")


@dataclass(frozen=True)
class Numbered:
    """Something with a name and a number in IANA's registries."""

    name: str
    code_point: int


@dataclass(frozen=True)
class SuiteOffered(Numbered):
    """A suite; `group` is the server's choice with it: `DH-2048` for the server's own
    parameters.
    """

    group: str | None = None


@dataclass(frozen=True)
class Listed(Generic[T]):
    """The items of a server in one version; `order`: `server`, `client`, `mixed`, or None if
    unknown.
    """

    version: str
    accepted: tuple[T, ...]
    order: str | None = None


@dataclass(frozen=True)
class Staple:
    """A stapled OCSP response."""

    status: str


@dataclass(frozen=True)
class ChainOffered:
    """A certificate chain; times in seconds since 1970; `trusted` is None if it was not checked.

    `must_staple`: the certificate requires a stapled OCSP response (RFC 7633).
    """

    key: str
    versions: tuple[str, ...]
    signature_algorithm: str
    not_before: int
    not_after: int
    problem: str | None = None
    staple: Staple | None = None
    trusted: bool | None = None
    name_matches: bool = True
    must_staple: bool = False

    @property
    def fault(self) -> str | None:
        """Why clients that check certificates refuse the chain; None if nothing speaks against it.

        A probe that does not check chains (`--insecure`) does not check names, either.
        """
        if self.problem is not None:
            return self.problem
        if self.trusted is not None and not self.name_matches:
            return "it is not for the name asked for"
        return None


@dataclass(frozen=True)
class Compressed:
    """Compression methods; None if the server speaks no version that has them or did not answer."""

    records: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Renegotiation:
    """Renegotiation up to TLS 1.2; None if the server speaks no such version or did not answer."""

    secure: bool | None = None
    client_initiated: bool | None = None


@dataclass(frozen=True)
class Protections:
    """Protections of the handshake; None if the server speaks no version to which they apply or did
    not answer.
    """

    extended_master_secret: bool | None = None
    encrypt_then_mac: bool | None = None
    fallback_scsv: bool | None = None


@dataclass(frozen=True)
class Resumption:
    """The properties of resumption that policies judge."""

    psk_ke: bool | None = None
    max_early_data_bytes: int | None = None
    early_data_accepted: bool | None = None


@dataclass(frozen=True)
class LargeHello:
    """The server's answer to a ClientHello of more than one segment, by its length in bytes."""

    bytes: int
    accepted: bool | None
    refusal: Refusal | None = None


@dataclass(frozen=True)
class FailedProtocol:
    """A protocol whose offer ended the handshake: whether the server supports it is not known."""

    name: str
    refusal: Refusal


@dataclass(frozen=True)
class Protocols:
    """The application protocols that a server selects, and those that are not known."""

    accepted: tuple[str, ...]
    failed: tuple[FailedProtocol, ...] = ()


@dataclass(frozen=True)
class Offered:
    """A server's offer; a list is empty, or a value None, if the probe found nothing out.

    `unanswered`: the questions that the server did not answer. It may accept more than the lists
    say. `client_certificate`: whether the server asks for one. `dh_prime`: what is weak about the
    prime of its own Diffie-Hellman parameters, in words that complete "the prime".
    """

    target: str
    address: str
    server_name: str | None
    versions: tuple[VersionFound, ...]
    suites: tuple[Listed[SuiteOffered], ...]
    groups: tuple[Listed[Numbered], ...]
    signature_schemes: tuple[Listed[Numbered], ...]
    certificates: tuple[ChainOffered, ...]
    alpn: Protocols | None = None
    resumption: Resumption | None = None
    compression: Compressed | None = None
    renegotiation: Renegotiation | None = None
    protections: Protections | None = None
    large_hello: LargeHello | None = None
    dh_prime: str | None = None
    client_certificate: bool | None = None
    hints: tuple[str, ...] = ()
    incomplete: str | None = None
    unanswered: tuple[Unanswered, ...] = ()

    @property
    def doubt(self) -> str | None:
        """Why the offer is not wholly known; None if it is."""
        return doubt_words(self.incomplete, self.open_questions, bool(self.spoken))

    @property
    def left_open(self) -> tuple[Unanswered, ...]:
        """The questions without an answer.

        Of the protocols whose offer failed HTTP/2 alone counts: a policy speaks of it.
        """
        failed = () if self.alpn is None else self.alpn.failed
        h2 = [Unanswered("alpn", "ALPN h2", each.refusal) for each in failed if each.name == "h2"]
        return (*self.unanswered, *h2)

    @property
    def open_questions(self) -> tuple[str, ...]:
        """What is not known, in words."""
        return tuple(dict.fromkeys(each.words for each in self.left_open))

    def lacks(self, version: str) -> bool:
        """Whether the server refuses a version; not if it did not answer, or was not asked."""
        return any(found.version == version and found.accepted is False for found in self.versions)

    @property
    def spoken(self) -> frozenset[str]:
        """The versions that the server speaks: `1.3`, `SSL 3.0`."""
        return frozenset(found.version for found in self.versions if found.accepted)

    def suites_of(self, version: str) -> Listed[SuiteOffered]:
        """The suites of a version."""
        return _of(self.suites, version)

    def groups_of(self, version: str) -> Listed[Numbered]:
        """The groups of TLS 1.3, or the common list of all earlier versions."""
        if version == "1.3":
            return _of(self.groups, version)
        old = next((found for found in self.groups if found.version != "1.3"), None)
        return old or Listed(version, ())

    def schemes_of(self, version: str) -> Listed[Numbered]:
        """The signature schemes of TLS 1.3 or 1.2."""
        return _of(self.signature_schemes, version)


def _of(found: tuple[Listed[T], ...], version: str) -> Listed[T]:
    return next((each for each in found if each.version == version), Listed(version, ()))
