"""The key of the certificate that a server shows, as a level of the factor `key`."""

import re

from tlslab.contract.record import Preflight, RunRecord
from tlslab.domain.errors import EngineError
from tlslab.domain.names import is_key
from tlslab.domain.plan import Cell


def key_level(preflight: Preflight) -> str:
    """The level of the factor `key` for a certificate: `ECDSA P-256` is `ecdsa-p256`."""
    return key_name_level(preflight.certificate.key if preflight.certificate else "unknown")


def key_name_level(key: str) -> str:
    """The level of a certificate key by the engine's name for it."""
    level = re.sub(r"[^a-z0-9]+", "-", key.lower()).replace("-p-", "-p").strip("-")[:34]
    return level if is_key(level) else f"other-{level}"


def check_certificate(cell: Cell, record: RunRecord) -> None:
    """Checks that the server presented the certificate that the cell names. Raises EngineError.

    A server with keys of several kinds chooses by the client's signature schemes. If the experiment
    pins none, another key than the cell's may have been measured.
    """
    asked, shown = cell.profile.key, record.preflight.certificate
    if asked is None or shown is None or key_name_level(shown.key) == asked:
        return
    raise EngineError(
        "certificate_key",
        f"the server showed its {shown.key} certificate, not {asked}: pin signature_schemes of "
        f"{asked} in the experiment, or measure this key alone",
    )
