"""The findings about a server. Made from schema/probe.json by `make schema`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class VersionFound:
    """The server's answer to one version."""

    version: str  # The version.
    accepted: bool | None = None


@dataclass(frozen=True)
class Named:
    """An item of an IANA registry: name and number."""

    name: str  # The name.
    code_point: int  # The number on the wire.


@dataclass(frozen=True)
class Suite(Named):
    """A cipher suite that the server accepts."""

    bits: int | None = None  # The key size of the cipher in bits; null for an unknown suite.
    group: str | None = None


@dataclass(frozen=True)
class AcceptedSuites:
    """The accepted items of one kind in one version."""

    version: str  # The version.
    accepted: tuple[Suite, ...]
    order: str | None = None


@dataclass(frozen=True)
class AcceptedItems:
    """The accepted items of one kind in one version."""

    version: str  # The version.
    accepted: tuple[Named, ...]
    order: str | None = None


@dataclass(frozen=True)
class Staple:
    """A stapled OCSP response (RFC 6066, section 8; RFC 6960)."""

    status: str  # Its status: `successful`, `try_later`, ..., `unreadable`.


@dataclass(frozen=True)
class TrustVerdict:
    """Whether a client that checks chain, validity and name, as curl does, accepts a
    certificate.
    """

    code: str  # The verdict for programs.
    message: str  # The reason in words, which continue `trusted:` or `not trusted:`.


@dataclass(frozen=True)
class Chain:
    """A certificate chain of the server."""

    versions: tuple[str, ...]  # The versions in which it was sent.
    key: str  # The kind and size of the key: `ECDSA P-256`, `RSA-2048`, `Ed25519`.
    not_before: int  # Start of validity, seconds since 1970.
    not_after: int  # End of validity, seconds since 1970.
    signature_algorithm: str
    subject: str = ""  # The first 256 bytes of the subject's name.
    issuer: str = ""  # The first 256 bytes of the issuer's name.
    name_matches: bool = True  # Whether the certificate covers the requested name.
    must_staple: bool = False
    problem: str | None = None  # The reason why the chain is not trusted.
    staple: Staple | None = None  # The stapled OCSP response; null for none.
    trusted: bool | None = None
    verdict: TrustVerdict | None = None


@dataclass(frozen=True)
class Refusal:
    """A server's refusal of a handshake: the class under which records count it, and words that
    complete a sentence after "the server".
    """

    class_: str
    words: str  # `answered handshake_failure (40)`, `closed the connection`, ...


@dataclass(frozen=True)
class OfferFound:
    """The server's answer to an offer."""

    accepted: bool | None = None
    refusal: Refusal | None = None  # The refusal, if any.


@dataclass(frozen=True)
class FailedProtocol:
    """A protocol whose offer ended the handshake."""

    name: str  # The protocol.
    refusal: Refusal  # How the handshake ended.


@dataclass(frozen=True)
class Protocols:
    """Application-layer protocol negotiation (RFC 7301)."""

    accepted: tuple[str, ...]  # The protocols that the server selects.
    failed: tuple[FailedProtocol, ...] = ()


@dataclass(frozen=True)
class Compression:
    """Compression."""

    records: tuple[str, ...] | None = None


@dataclass(frozen=True)
class LargeHello:
    """The server's answer to a ClientHello with the key share of a hybrid group, which fills more
    than one segment.
    """

    bytes: int  # The length of the ClientHello in bytes.
    accepted: bool | None = None
    refusal: Refusal | None = None


@dataclass(frozen=True)
class Protections:
    """Protections of the handshake."""

    encrypt_then_mac: bool | None = None  # Encrypt-then-MAC, for suites in CBC mode (RFC 7366).
    extended_master_secret: bool | None = None  # Extended master secret, up to TLS 1.2 (RFC 7627).
    fallback_scsv: bool | None = None  # Refusal of a client that signals a fallback (RFC 7507).


@dataclass(frozen=True)
class Renegotiation:
    """Renegotiation up to TLS 1.2."""

    client_initiated: bool | None = None
    secure: bool | None = None  # Whether the server indicates secure renegotiation (RFC 5746).


@dataclass(frozen=True)
class Resumption:
    """The supported kinds of resumption."""

    early_data_accepted: bool | None = None
    max_early_data_bytes: int | None = None
    psk_ke: bool | None = None


@dataclass(frozen=True)
class Unanswered:
    """A question without an answer."""

    topic: str  # The topic of the question.
    question: str  # What was asked for: `suites of TLS 1.2`.
    refusal: Refusal


@dataclass(frozen=True)
class ProbeRecord:
    """The findings about a server."""

    target: str  # Host and port as given.
    address: str  # The address that was connected to.
    versions: tuple[VersionFound, ...]
    suites: tuple[AcceptedSuites, ...]  # The accepted cipher suites of each version.
    groups: tuple[AcceptedItems, ...]  # The key-exchange groups of TLS 1.3 and 1.2.
    signature_schemes: tuple[AcceptedItems, ...]
    certificates: tuple[Chain, ...]  # The server's certificate chains.
    offers: tuple[OfferFound, ...] = ()
    alpn: Protocols | None = None
    client_certificate: bool | None = None
    compression: Compression | None = None  # Compression, of records and of certificates.
    dh_prime: str | None = None
    hints: tuple[str, ...] = ()
    incomplete: str | None = None  # The reason why the probe ended early; null if it is complete.
    large_hello: LargeHello | None = None
    protections: Protections | None = None  # Protections of the handshake.
    renegotiation: Renegotiation | None = None  # Renegotiation up to TLS 1.2.
    resumption: Resumption | None = None  # The supported kinds of resumption.
    server_name: str | None = None  # The name sent by SNI; null for an address.
    trust: TrustVerdict | None = None
    unanswered: tuple[Unanswered, ...] = ()
