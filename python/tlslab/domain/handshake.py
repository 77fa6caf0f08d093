"""What a handshake negotiated, and what the connection before the load found.

As the engine's record has it (`schema/record.json`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """What a handshake negotiated, in the names of records; `group` is None for static RSA.

    `client_authenticated`: the server asked for a certificate, and the client showed one.
    `resumed_by` is `none`, `id`, `ticket`, `psk` or `psk-only`; `early_data` is `none`, `accepted`
    or `rejected`. `ocsp_response_bytes` is the length of the stapled OCSP response, 0 for none.
    """

    tls: str
    suite: str
    group: str | None
    signature_scheme: str | None
    kind: str
    hello_retry_request: bool
    alpn: str | None = None
    client_authenticated: bool = False
    resumed_by: str = "none"
    early_data: str = "none"
    ocsp_response_bytes: int = 0


@dataclass(frozen=True)
class CountedFacts(Facts):
    """Facts, and how many connections had them."""

    count: int = 0


@dataclass(frozen=True)
class Certificate:
    """What the server's certificate says; the strings are the server's, and hostile."""

    subject: str
    issuer: str
    key: str
    not_before: int
    not_after: int
    chain_length: int
    chain_bytes: int


@dataclass(frozen=True)
class SessionsGiven:
    """The sessions to resume that came with each kind of handshake in the preflight."""

    full: int
    resumed: int


@dataclass(frozen=True)
class Preflight:
    """The one connection made before the load; `server` is the Server header, and hostile.

    `body_sha256` is the body's digest in hexadecimal, where bodies were checked by it; `sessions`
    is None where nothing was to be resumed. `streams` is how many concurrent streams the server
    allows, over HTTP/2; None if it has set no limit.
    """

    facts: Facts
    certificate: Certificate | None
    status: int | None
    body_bytes: int | None
    server: str | None
    body_sha256: str | None = None
    sessions: SessionsGiven | None = None
    streams: int | None = None
    dh_prime: str | None = None
