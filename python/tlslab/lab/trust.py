"""The trusted authorities for a server that the lab did not start."""

from pathlib import Path

from tlslab.domain.errors import UsageError

# RFC 7468's form and OpenSSL's own, which contains the same certificate.
_BEGIN_LINES = ("-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----")


def whom_to_trust(authority: Path | None, insecure: bool) -> str:
    """`anyone`, `system`, or the authorities of a file in PEM. Raises UsageError."""
    if insecure:
        return "anyone"
    if authority is None:
        return "system"
    try:
        text = authority.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(
            f"--ca {authority}: {error.strerror}", "give a PEM file that is there and may be read"
        ) from None
    except UnicodeDecodeError:
        text = ""
    if not any(start in text for start in _BEGIN_LINES):
        raise UsageError(
            f"--ca {authority}: the file holds no certificate",
            "give a file in PEM, with -----BEGIN CERTIFICATE-----; "
            "`openssl x509 -inform der -in FILE` turns a DER file into one",
        )
    return text
