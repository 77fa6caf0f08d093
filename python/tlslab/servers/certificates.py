"""Certificates for servers on this machine: the run's own authority for each kind of key.

An ECDSA authority issues ECDSA leaves and an RSA authority RSA leaves: a client that offers only
the schemes of one kind must find no other in the chain (RFC 8446, section 4.2.3).
"""

import datetime
import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509 import ocsp
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tlslab.domain.configuration import Configuration
from tlslab.domain.errors import CannotRunError
from tlslab.domain.levels import Levels

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey

# The side that a certificate authenticates.
Purpose = Literal["server", "client"]

_PURPOSES = {
    "server": ExtendedKeyUsageOID.SERVER_AUTH,
    "client": ExtendedKeyUsageOID.CLIENT_AUTH,
}

SERVER_NAME = "localhost"
VALID_DAYS = 30

_CURVES: dict[str, ec.EllipticCurve] = {
    "ecdsa-p256": ec.SECP256R1(),
    "ecdsa-p384": ec.SECP384R1(),
    "ecdsa-p521": ec.SECP521R1(),
}


@dataclass(frozen=True)
class CertificateFiles:
    """A leaf certificate and its key, in PEM.

    If requested, also an OCSP response with the status good, in DER, and the authority that signed
    both, in PEM.
    """

    certificate: Path
    key: Path
    ocsp_response: Path | None = None
    issuer: Path | None = None


def make_key(kind: str) -> PrivateKey:
    """A private key of a kind in `model.names.CERTIFICATE_KEYS`."""
    if kind in _CURVES:
        return ec.generate_private_key(_CURVES[kind])
    if kind == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(public_exponent=65537, key_size=int(kind.removeprefix("rsa-")))


class Authority:
    """Issues leaf certificates into a folder, and knows the authorities to trust for them.

    Every leaf is also valid for `addresses`.
    """

    def __init__(self, folder: Path, addresses: Sequence[str] = ()) -> None:
        self._folder = folder
        self._addresses = ("127.0.0.1", "::1", *addresses)
        self._issuers: dict[str, tuple[x509.Certificate, PrivateKey]] = {}

    @property
    def trust_pem(self) -> str:
        """The certificates of all authorities that have issued a leaf, in PEM."""
        pems = (_pem(certificate) for certificate, _ in self._issuers.values())
        return "".join(pems)

    def serve(self, keys: Sequence[str], levels: Levels) -> list[CertificateFiles]:
        """A leaf for each key, with an OCSP response if the server is to staple one."""
        stapled = levels.is_on("ocsp_stapling")
        return [self.issue(key, stapled=stapled) for key in keys]

    def issue(
        self,
        kind: str,
        lifetime_days: int = VALID_DAYS,
        purpose: Purpose = "server",
        addresses: Sequence[str] = (),
        stapled: bool = False,
        name: str = SERVER_NAME,
    ) -> CertificateFiles:
        """A leaf for `name`, 127.0.0.1, ::1 and all given addresses.

        A negative lifetime gives an expired leaf. `stapled`: with an OCSP response to staple.
        """
        authority_kind = "rsa-2048" if kind.startswith("rsa-") else "ecdsa-p256"
        if authority_kind not in self._issuers:
            self._issuers[authority_kind] = _make_authority(authority_kind)
        issuer, issuer_key = self._issuers[authority_kind]
        key = make_key(kind)
        addresses = tuple(dict.fromkeys((*self._addresses, *addresses)))
        leaf = _leaf(kind, key, (issuer, issuer_key), lifetime_days, purpose, addresses, name)
        files = CertificateFiles(self._folder / f"{kind}.pem", self._folder / f"{kind}.key")
        files.certificate.write_text(_pem(leaf), "ascii")
        files.key.touch(mode=0o600)
        files.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return self._stapled(files, leaf, (issuer, issuer_key)) if stapled else files

    def _stapled(
        self,
        files: CertificateFiles,
        leaf: x509.Certificate,
        authority: tuple[x509.Certificate, PrivateKey],
    ) -> CertificateFiles:
        """The files of a leaf, together with its OCSP response and its authority."""
        response = files.certificate.with_suffix(".ocsp")
        response.write_bytes(_ocsp_response(leaf, *authority))
        issuer = files.certificate.with_suffix(".issuer")
        issuer.write_text(_pem(authority[0]), "ascii")
        return replace(files, ocsp_response=response, issuer=issuer)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")


def _hash(key: PrivateKey) -> hashes.SHA256 | None:
    """The hash for signing a certificate; None for Ed25519, which has its own."""
    return None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()


def _builder(subject: str, issuer: str, key: PrivateKey, days: int) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    start = now - datetime.timedelta(days=1 if days > 0 else 1 - 2 * days)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _make_authority(kind: str) -> tuple[x509.Certificate, PrivateKey]:
    key = make_key(kind)
    name = f"tlslab {kind} authority of one run"
    builder = _builder(name, name, key, VALID_DAYS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    # For certificates, revocation lists and, as a digital signature, OCSP responses.
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    builder = builder.add_extension(usage, critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    return builder.sign(key, _hash(key)), key


def _leaf(
    kind: str,
    key: PrivateKey,
    authority: tuple[x509.Certificate, PrivateKey],
    days: int,
    purpose: Purpose,
    addresses: Sequence[str],
    name: str,
) -> x509.Certificate:
    issuer, issuer_key = authority
    issuer_name = str(issuer.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
    builder = _builder(f"tlslab {kind}", issuer_name, key, days)
    names = x509.SubjectAlternativeName(
        [
            x509.DNSName(name),
            *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses),
        ]
    )
    builder = builder.add_extension(names, critical=False)
    builder = builder.add_extension(
        x509.BasicConstraints(ca=False, path_length=None), critical=True
    )
    usage = x509.ExtendedKeyUsage([_PURPOSES[purpose]])
    builder = builder.add_extension(usage, critical=False)
    above = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = builder.add_extension(above, critical=False)
    return builder.sign(issuer_key, _hash(issuer_key))


def _ocsp_response(
    leaf: x509.Certificate, issuer: x509.Certificate, issuer_key: PrivateKey
) -> bytes:
    """An OCSP response with the status good, valid as long as the leaf (RFC 6960); DER."""
    builder = ocsp.OCSPResponseBuilder().add_response(
        cert=leaf,
        issuer=issuer,
        # SHA-1 is what responders use and servers expect (RFC 5019, section 2.1.1): it signs
        # nothing here, it only identifies the certificate.
        algorithm=hashes.SHA1(),
        cert_status=ocsp.OCSPCertStatus.GOOD,
        this_update=leaf.not_valid_before_utc,
        next_update=leaf.not_valid_after_utc,
        revocation_time=None,
        revocation_reason=None,
    )
    builder = builder.responder_id(ocsp.OCSPResponderEncoding.HASH, issuer)
    signed = builder.sign(issuer_key, _hash(issuer_key))
    return signed.public_bytes(serialization.Encoding.DER)


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
            yield each.certificate, _read_leaf(each.certificate)


def _read_leaf(file: str) -> x509.Certificate:
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
