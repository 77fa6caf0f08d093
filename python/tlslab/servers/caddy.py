"""Caddy, on Go's TLS library, with the lab's own configuration in a private folder."""

import json
import re
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tlslab.domain.names import SUITES
from tlslab.servers.configured import ConfiguredServer, ask

# Caddy's names of Go 1.19's groups (modules/caddytls/values.go).
CURVES = {
    "X25519": "x25519",
    "P-256": "secp256r1",
    "P-384": "secp384r1",
    "P-521": "secp521r1",
}

# The suites of TLS 1.2 that Caddy can select, by IANA's names. Go has no setting for suites of
# TLS 1.3 (crypto/tls, `Config.CipherSuites`).
CIPHER_SUITES = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
)

_KNOWN = {suite.name for suite in SUITES}


class Caddy(ConfiguredServer):
    """Debian's Caddy: one process, with as many threads for Go code as there are workers."""

    name = "caddy"
    remedy = "apt-get install caddy, or use another --target"
    template = "caddy.json.j2"

    # A single process: it needs no time to end others.
    end_signal = "KILL"

    @staticmethod
    def find() -> str | None:
        """The program."""
        return shutil.which("caddy")

    @staticmethod
    def versions(program: str) -> tuple[str, str]:
        """Caddy's version, and that of the Go it was built with, which provides its TLS library."""
        return _versions(program)

    def _command(self, config: Path) -> list[str]:
        folder = self._setting.folder
        home = [f"{name}={folder}" for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")]
        threads = f"GOMAXPROCS={self._setting.workers}"
        return ["env", *home, threads, self._program, "run", "--config", str(config)]

    def _configure(self, port: int, groups: Sequence[str], upstreams: Sequence[str] = ()) -> Path:
        self._curves = list(groups)
        return super()._configure(port, groups, upstreams)

    def _refusal(self, config: Path) -> str | None:
        # Caddy ignores unknown curves.
        unknown = next((group for group in self._curves if group not in CURVES), None)
        if unknown is not None:
            return f"unknown curve '{unknown}'"
        command = self._command(config)
        code, answer = ask([*command[: command.index("run")], "validate", "--config", str(config)])
        return None if code == 0 else _reason(answer)

    def _values(self) -> dict[str, Any]:
        asked = [suite for suite in self._setting.suites if "_WITH_" in suite]
        # The probe finds the suites that this library lacks; unknown ones are refused here.
        suites = [suite for suite in asked if suite in CIPHER_SUITES or suite not in _KNOWN]
        return {
            "curves": [CURVES.get(group, group) for group in self._curves],
            "cipher_suites": suites or list(CIPHER_SUITES),
        }


@cache
def _versions(program: str) -> tuple[str, str]:
    version = re.search(r"v?(\d+\.\d+\S*)", ask([program, "version"])[1])
    go = re.search(r"\bgo(\d+\.\d+\S*)", ask([program, "build-info"])[1])
    name = f"caddy/{version[1]}" if version else "caddy"
    return name, f"Go crypto/tls {go[1]}" if go else "Go crypto/tls"


def _reason(answer: str) -> str:
    """The error among Caddy's log lines, in JSON or text."""
    for line in reversed(answer.splitlines()):
        if line.startswith("{"):
            said = json.loads(line)
            if said.get("level") == "error":
                return str(said.get("error") or said.get("msg"))
        if "Error:" in line or line.startswith("run: "):
            return line.partition("Error:")[2].strip() or line
    return " ".join(answer.split())
