"""The user's own certificates in a configuration: the trust in them, and the name to connect by."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from tlslab.domain.configuration import Configuration
from tlslab.domain.errors import CannotRunError
from tlslab.servers.certificates import SERVER_NAME

_ANY = "*."

# The label that replaces a wildcard.
_BELOW = "www."


def own_trust(configuration: Configuration | None) -> str:
    """The leaves themselves, in PEM: nobody here may know their issuers.

    The engine takes a certificate that is trusted byte for byte as the end of a chain. Raises
    CannotRunError.
    """
    return "".join(
        leaf.public_bytes(serialization.Encoding.PEM).decode("ascii")
        for _, leaf in _leaves(configuration)
    )


def server_name(configuration: Configuration | None) -> str:
    """The name to connect by: the first one valid for all the user's certificates; else localhost.

    Below a wildcard, `www`. Raises CannotRunError if there is no such name.
    """
    by_file = {file: _names(leaf) for file, leaf in _leaves(configuration)}
    if not by_file:
        return SERVER_NAME
    remedy = "name its key (--key rsa-2048): the lab then serves one of its own with such a key"
    for file, names in by_file.items():
        if not names:
            why = "the certificate has no DNS name in its subject alternative name"
            raise CannotRunError(f"{file}: {why}", remedy)
    first, *others = by_file.values()
    for name in first:
        asked = _BELOW + name.removeprefix(_ANY) if name.startswith(_ANY) else name
        if all(_covers(names, asked) for names in others):
            return asked
    raise CannotRunError(f"{', '.join(by_file)}: the certificates have no name in common", remedy)


def _leaves(configuration: Configuration | None) -> Iterator[tuple[str, x509.Certificate]]:
    for each in () if configuration is None else configuration.certificates:
        if each.certificate:
            yield each.certificate, _leaf(each.certificate)


def _leaf(file: str) -> x509.Certificate:
    """The first certificate of a file, which is the server's; those of authorities follow."""
    try:
        return x509.load_pem_x509_certificate(Path(file).read_bytes())
    except OSError as error:
        raise CannotRunError(f"{file}: {error.strerror}") from None
    except ValueError:
        raise CannotRunError(f"{file}: the file holds no certificate in PEM") from None


def _names(leaf: x509.Certificate) -> list[str]:
    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, ValueError):
        return []
    return found.value.get_values_for_type(x509.DNSName)


def _covers(names: Sequence[str], asked: str) -> bool:
    """Whether one of these is the name, or a wildcard for its first label (RFC 9525, 6.3)."""
    above = _ANY + asked.partition(".")[2]
    return any(name.casefold() in (asked.casefold(), above.casefold()) for name in names)
