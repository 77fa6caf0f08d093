"""The TLS requirements of one run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """The handshake that a cell forces; an empty tuple leaves the choice to the back end.

    `key`: the certificate key that the server must serve (`ecdsa-p256`, `rsa-2048`, ...); the
    others are names of `model.names`. `dh_bits`: the size of Diffie-Hellman parameters that the
    server must use. `backend`: the TLS library that the client must use. `ocsp_stapling`: whether
    the server must staple an OCSP response; None if either will do. `hello_retry`: the client's
    first ClientHello has no key share for the group. `resume`: how connections resume, if the
    server decides on that and not the experiment.
    """

    tls: str | None = None
    key: str | None = None
    groups: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    signature_schemes: tuple[str, ...] = ()
    dh_bits: int | None = None
    backend: str | None = None
    ocsp_stapling: bool | None = None
    hello_retry: bool = False
    resume: str | None = None
