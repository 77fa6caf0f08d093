"""Certificates and keys of a benchmark's two sides, and the stores of the client's key.

Stores are opened for a run; a failure fails the store's own cells only.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tlslab.domain.errors import CannotRunError
from tlslab.domain.wording import counted
from tlslab.servers.certificates import Authority, CertificateFiles
from tlslab.servers.signer import ClusterSetting, SigningCluster, signing_cluster
from tlslab.servers.softhsm import make_token

# RSA on both sides, so that both versions of TLS need one RSA signature per side.
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


@dataclass(frozen=True)
class KeyStore:
    """An opened key store.

    - `settings`: its lines in the JVM's settings file.
    - `environment`: variables that a process needs to reach the store.
    - `flags`: the engine's flags.
    - `words`: a description.
    - `failure`: why the store could not be opened; the other fields are then meaningless.
    """

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    cluster: SigningCluster | None = None
    words: str = ""
    failure: str = ""

    def signers(self) -> tuple[int, ...]:
        """The signing processes that still run."""
        return self.cluster.processes if self.cluster else ()


Opener = Callable[[Material, ExitStack], KeyStore]


class KeyStores:
    """All key stores of a run; the processes started for them end with the context."""

    def __init__(self, names: Sequence[str], material: Material) -> None:
        self._material = material
        self._stacks = {name: ExitStack() for name in names}
        self._opened: dict[str, KeyStore] = {}

    def __enter__(self) -> "KeyStores":
        try:
            for name in self._stacks:
                self.renew(name)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def __getitem__(self, name: str) -> KeyStore:
        return self._opened[name]

    def all(self) -> tuple[KeyStore, ...]:
        """The key stores, in the order in which they were asked for."""
        return tuple(self._opened.values())

    def renew(self, name: str) -> None:
        """Ends the processes of a key store, and opens the store anew."""
        stack = self._stacks[name]
        stack.close()
        try:
            self._opened[name] = _OPENERS[name](self._material, stack)
        except CannotRunError as error:
            stack.close()
            words = ": ".join(filter(None, (error.message, error.remedy)))
            self._opened[name] = KeyStore(name, failure=words)

    def _close(self) -> None:
        for stack in self._stacks.values():
            stack.close()


def _memory(material: Material, stack: ExitStack) -> KeyStore:
    return KeyStore("memory", words="in the benchmark's own memory")


def _pkcs11(material: Material, stack: ExitStack) -> KeyStore:
    token = make_token(material.folder / "token", material.client)
    settings = {
        "pkcs11.library": token.module,
        "pkcs11.pin": token.pin_file.read_text("ascii").strip(),
        "pkcs11.label": token.key,
    }
    words = f"{token.software}, by SunPKCS11 or the engine"
    return KeyStore("pkcs11", settings, token.environment, token.flags(), words=words)


def _cluster(material: Material, stack: ExitStack) -> KeyStore:
    setting = ClusterSetting(material.folder / "cluster", material.client.key)
    return cluster_store(stack.enter_context(signing_cluster(setting)))


def cluster_store(cluster: SigningCluster) -> KeyStore:
    """The key store of a started cluster."""
    reported = json.loads(cluster.description.read_text("utf-8"))
    with open(reported["token_file"], encoding="ascii") as file:
        token = file.read().strip()
    settings = {
        "cluster.nodes": ", ".join(f"{node['url']} {node['weight']}" for node in reported["nodes"]),
        "cluster.ca": reported["authority"],
        "cluster.token": token,
        "cluster.key": reported["key"],
        "cluster.timeout_ms": str(reported["timeout_ms"]),
    }
    flags = [f"--signers={cluster.description}"]
    flags += [f"--allow={address}" for address in cluster.addresses]
    words = f"{counted(len(cluster.nodes), 'node')} of {cluster.software}; {cluster.note}"
    return KeyStore("cluster", settings, flags=tuple(flags), cluster=cluster, words=words)


_OPENERS: Mapping[str, Opener] = {"memory": _memory, "pkcs11": _pkcs11, "cluster": _cluster}
