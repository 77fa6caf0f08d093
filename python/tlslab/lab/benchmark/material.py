"""Certificates and keys of a benchmark's two sides, and the settings file that names them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tlslab.servers.certificates import Authority, CertificateFiles

# The study's keys: RSA on both sides, so that both versions of TLS need one RSA signature per side.
KEY = "rsa-2048"


@dataclass(frozen=True)
class Material:
    """The input of every process of a run; `trust` is a PEM file with both authorities."""

    folder: Path
    server: CertificateFiles
    client: CertificateFiles
    trust: Path

    def write_settings(self, name: str, more: Mapping[str, str]) -> Path:
        """The settings file of the benchmarks (java/, `Settings`), readable for its owner only."""
        lines = {
            "trust": str(self.trust),
            "server.certificate": str(self.server.certificate),
            "server.key": str(self.server.key),
            "client.certificate": str(self.client.certificate),
            "client.key": str(self.client.key),
            **more,
        }
        path = self.folder / f"{name}.properties"
        path.touch(mode=0o600)
        path.write_text("".join(f"{key}={_escaped(lines[key])}\n" for key in lines), "utf-8")
        return path


def make_material(folder: Path) -> Material:
    """New keys and certificates for one run, in this folder."""
    made = {}
    trust = ""
    for side in ("server", "client"):
        (folder / side).mkdir()
        authority = Authority(folder / side)
        made[side] = authority.issue(KEY, purpose="server" if side == "server" else "client")
        trust += authority.trust_pem
    path = folder / "trust.pem"
    path.write_text(trust, "ascii")
    return Material(folder, made["server"], made["client"], path)


def _escaped(text: str) -> str:
    """A value in the syntax of a properties file."""
    return text.replace("\\", "\\\\").replace("\n", "\\n")
