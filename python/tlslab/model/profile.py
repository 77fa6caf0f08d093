"""What one run asks of TLS."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """The handshake that a cell forces; an empty tuple leaves the choice to the back end.

    `key` is the certificate key that the server must serve (`ecdsa-p256`, `rsa-2048`, ...); the
    others are names of `model.names`. `dh_bits` is the size of the Diffie-Hellman parameters that
    the server must use, `backend` the TLS library that the client must use. `ocsp_stapling` is
    whether the server must staple an OCSP response, None for either. `hello_retry`: the client has
    no key share for the group at first. `resume` is how connections resume, where the server
    decides on that and not the experiment.
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
