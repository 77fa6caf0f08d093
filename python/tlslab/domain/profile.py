"""The TLS requirements of one run."""

from dataclasses import dataclass

from tlslab.domain.levels import NO_LEVELS, Levels


@dataclass(frozen=True)
class Profile:
    """The handshake that a cell forces; an empty tuple leaves the choice to the back end.

    `key`: the certificate key that the server must serve (`ecdsa-p256`, `rsa-2048`, ...); the
    others are names of `domain.names`. `backend`: the TLS library that the client must use.
    `hello_retry`: the client's first ClientHello has no key share for the group. `resume`: how
    connections resume, if the server decides on that and not the experiment. `levels`: the levels
    of further factors that are a part of the offer (`FactorRow.tls`).
    """

    tls: str | None = None
    key: str | None = None
    groups: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    signature_schemes: tuple[str, ...] = ()
    backend: str | None = None
    hello_retry: bool = False
    resume: str | None = None
    levels: Levels = NO_LEVELS
