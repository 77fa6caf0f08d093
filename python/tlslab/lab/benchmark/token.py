"""A software token (SoftHSM2) with the client's key, in a private folder."""

import secrets
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tlslab.model.errors import CannotRunError
from tlslab.targets.certificates import CertificateFiles

MODULES = (
    Path("/usr/lib/softhsm/libsofthsm2.so"),
    Path("/usr/lib64/softhsm/libsofthsm2.so"),
    Path("/usr/local/lib/softhsm/libsofthsm2.so"),
)

LABEL = "client"
IDENTIFIER = "01"

_LIMIT_S = 30.0
_WORDS = 300

REMEDY = "install SoftHSM2 and OpenSC (Debian: softhsm2, opensc)"


@dataclass(frozen=True)
class Token:
    """A token: its module, the file that SOFTHSM2_CONF must name, its PIN and its key's label."""

    module: Path
    config: Path
    pin: str
    label: str
    words: str


def make_token(folder: Path, client: CertificateFiles) -> Token:
    """A token with the key and the certificate, paired by their identifier.

    Raises CannotRunError with the tools' own words.
    """
    module = next((path for path in MODULES if path.is_file()), None)
    if module is None or not all(map(shutil.which, ("softhsm2-util", "pkcs11-tool"))):
        raise CannotRunError("no software token here", REMEDY)
    config, tokens = folder / "softhsm2.conf", folder / "tokens"
    tokens.mkdir()
    config.write_text(
        f"directories.tokendir = {tokens}\nobjectstore.backend = file\nlog.level = ERROR\n", "utf-8"
    )
    environment = {"PATH": "/usr/sbin:/usr/bin:/bin", "SOFTHSM2_CONF": str(config)}
    pin, officer = secrets.token_hex(8), secrets.token_hex(8)
    _call(
        ["softhsm2-util", "--init-token", "--free", "--label", "tlslab"]
        + ["--pin", pin, "--so-pin", officer],
        environment,
    )
    _call(
        ["softhsm2-util", "--import", str(client.key), "--token", "tlslab"]
        + ["--label", LABEL, "--id", IDENTIFIER, "--pin", pin],
        environment,
    )
    certificate = folder / "client.der"
    leaf = x509.load_pem_x509_certificate(client.certificate.read_bytes())
    certificate.write_bytes(leaf.public_bytes(Encoding.DER))
    _call(
        ["pkcs11-tool", "--module", str(module), "--token-label", "tlslab", "--login"]
        + ["--pin", pin, "--write-object", str(certificate), "--type", "cert"]
        + ["--id", IDENTIFIER, "--label", LABEL],
        environment,
    )
    version = _call(["softhsm2-util", "--version"], environment).strip()
    return Token(module, config, pin, LABEL, f"SoftHSM2 {version} by SunPKCS11")


def _call(command: Sequence[str], environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_LIMIT_S, env=dict(environment), check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRunError(f"{command[0]} could not be run: {error}", REMEDY) from None
    words = (done.stdout + done.stderr).decode("utf-8", "replace")
    if done.returncode != 0:
        said = " ".join(words.split())[-_WORDS:]
        raise CannotRunError(f"{command[0]} ended with {done.returncode}: {said}")
    return words
