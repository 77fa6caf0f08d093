"""A token behind PKCS #11 with one key and its certificate: SoftHSM2 in a private folder.

A JSON file describes the token to programs, which also need SOFTHSM2_CONF in their environment:

    {"schema": "tlslab.pkcs11/1", "module": "/.../libsofthsm2.so", "config": "/.../softhsm2.conf",
     "token": "tlslab", "key": "client", "id": "01", "pin_file": "/.../pin",
     "sun_pkcs11": "/.../sunpkcs11.cfg"}

Key and certificate have the same CKA_ID, by which SunPKCS11 pairs them; `key` is the label of
both. `sun_pkcs11` is a configuration of that provider.
"""

import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from tlslab.domain.errors import CannotRunError
from tlslab.servers.base import require
from tlslab.servers.certificates import CertificateFiles

SCHEMA = "tlslab.pkcs11/1"
TOKEN = "tlslab"
KEY_ID = "01"
REMEDY = "install the packages softhsm2 and opensc"
COMMAND_S = 30

_MODULES = (
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
    "/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so",
    "/usr/lib64/pkcs11/libsofthsm2.so",
    "/usr/lib64/softhsm/libsofthsm2.so",
    "/usr/local/lib/softhsm/libsofthsm2.so",
)


@dataclass(frozen=True)
class Pkcs11Token:
    """A token with a key. The PIN is in `pin_file`, readable for the owner only."""

    module: str
    config: Path
    token: str
    key: str
    pin_file: Path
    description: Path
    software: str

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that a program needs for the token, beside the lab's own environment."""
        return {"SOFTHSM2_CONF": str(self.config)}

    def flags(self) -> tuple[str, ...]:
        """`tlslab-load in-memory` with the key behind PKCS #11."""
        return (
            f"--pkcs11-module={self.module}",
            f"--pkcs11-token={self.token}",
            f"--pkcs11-key={self.key}",
            f"--pkcs11-pin-file={self.pin_file}",
        )

    def check(self) -> None:
        """Logs in, and checks that key and certificate exist. Raises CannotRunError."""
        pin = self.pin_file.read_text("ascii").strip()
        objects = _tool(self.module, self.token, pin, self.environment, ("--list-objects",))
        for kind in ("Private Key Object", "Certificate Object"):
            if kind not in objects:
                raise CannotRunError(f"token '{self.token}' has no {kind.lower()}")


def find_module() -> str | None:
    """SoftHSM2's module: SOFTHSM2_MODULE, or the place of distribution packages."""
    named = os.environ.get("SOFTHSM2_MODULE")
    if named:
        return named
    return next((path for path in _MODULES if Path(path).is_file()), None)


def make_token(folder: Path, files: CertificateFiles, label: str = "client") -> Pkcs11Token:
    """A fresh token in a folder, with the key and the certificate. Raises CannotRunError."""
    utility = require(shutil.which("softhsm2-util"), "softhsm2-util", REMEDY)
    module = require(find_module(), "SoftHSM2's module libsofthsm2.so", REMEDY)
    tokens = folder / "tokens"
    tokens.mkdir(mode=0o700, parents=True)
    config = folder / "softhsm2.conf"
    config.write_text(
        f"directories.tokendir = {tokens}\nobjectstore.backend = file\nlog.level = ERROR\n"
    )
    pin, officer = secrets.token_hex(8), secrets.token_hex(8)
    pin_file = folder / "pin"
    pin_file.touch(mode=0o600)
    pin_file.write_text(pin, "ascii")
    described = folder / "pkcs11.json"
    token = Pkcs11Token(module, config, TOKEN, label, pin_file, described, _software(utility))
    chosen = ("--token", TOKEN, "--pin", pin)
    _run(
        (utility, "--init-token", "--free", "--label", TOKEN, "--so-pin", officer, "--pin", pin),
        token,
    )
    key = ("--import", str(files.key), "--label", label, "--id", KEY_ID)
    _run((utility, *key, *chosen), token)
    certificate = folder / "certificate.der"
    certificate.write_bytes(_der(files.certificate))
    written = ("--write-object", str(certificate), "--type", "cert", "--id", KEY_ID)
    _tool(module, TOKEN, pin, token.environment, (*written, "--label", label))
    _describe(token, folder)
    token.check()
    return token


def _describe(token: Pkcs11Token, folder: Path) -> None:
    sun = folder / "sunpkcs11.cfg"
    sun.write_text(f"name = {TOKEN}\nlibrary = {token.module}\nslotListIndex = 0\n")
    reported = {
        "schema": SCHEMA,
        "module": token.module,
        "config": str(token.config),
        "token": token.token,
        "key": token.key,
        "id": KEY_ID,
        "pin_file": str(token.pin_file),
        "sun_pkcs11": str(sun),
    }
    token.description.write_text(json.dumps(reported, indent=1), "utf-8")


def _der(certificate: Path) -> bytes:
    parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
    return parsed.public_bytes(serialization.Encoding.DER)


def _software(utility: str) -> str:
    reported = subprocess.run(
        [utility, "--version"], capture_output=True, text=True, timeout=COMMAND_S, check=False
    )
    return f"SoftHSM {reported.stdout.strip() or 'of an unknown version'}"


def _run(command: Sequence[str], token: Pkcs11Token) -> str:
    return _checked(command, token.environment, token.module, token.token)


def _tool(
    module: str, token: str, pin: str, environment: Mapping[str, str], arguments: Sequence[str]
) -> str:
    program = require(shutil.which("pkcs11-tool"), "pkcs11-tool", REMEDY)
    login = (program, "--module", module, "--token-label", token, "--login", "--pin", pin)
    return _checked((*login, *arguments), environment, module, token)


def _checked(
    command: Sequence[str], environment: Mapping[str, str], module: str, token: str
) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
        env={**os.environ, **environment},
    )
    if done.returncode != 0:
        raise explain(f"{done.stdout} {done.stderr}", module, token)
    return done.stdout


def explain(words: str, module: str, token: str) -> CannotRunError:
    """The meaning of a program's message about PKCS #11, on one line."""
    if re.search(r"CKR_PIN_(INCORRECT|INVALID|LEN_RANGE)|PIN is incorrect", words, re.IGNORECASE):
        return CannotRunError(f"token '{token}' refuses the PIN", "correct the file with the PIN")
    if "Failed to load pkcs11 module" in words or "sc_dlopen failed" in words:
        return CannotRunError(f"{module} is no PKCS #11 module, or cannot be loaded", REMEDY)
    return CannotRunError(f"PKCS #11 token '{token}': {' '.join(words.split())[:300]}")
