"""Where the client's key may be, made ready for a run: each failure fails its own cells only."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tlslab.lab.benchmark.cluster import start_cluster
from tlslab.lab.benchmark.material import Material
from tlslab.lab.benchmark.token import make_token
from tlslab.model.errors import CannotRunError


class Cluster(Protocol):
    """A started cluster of signing nodes, and what can be done to it."""

    def settings(self) -> Mapping[str, str]:
        """The lines `cluster.*` of a settings file."""
        ...

    def pids(self) -> Sequence[int]:
        """The processes that sign."""
        ...

    def describe(self) -> str:
        """What signs, in words, with its version."""
        ...

    def begin_fault(self, kind: str) -> str:
        """Does something to one node; what was done, in words."""
        ...

    def end_fault(self) -> str:
        """Undoes it; what was done, in words."""
        ...


@dataclass(frozen=True)
class KeyStore:
    """An opened key store.

    `settings` are its lines of a settings file, `environment` what a process needs to reach it,
    `signers` the processes that sign elsewhere, `words` what it is. `failure` says why it is not
    there; nothing else counts then.
    """

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    cluster: Cluster | None = None
    words: str = ""
    failure: str = ""


def open_key_stores(
    names: Sequence[str], material: Material, stack: ExitStack
) -> dict[str, KeyStore]:
    """All key stores that are asked for; what was started ends with the stack."""
    openers: Mapping[str, Callable[[Material, ExitStack], KeyStore]] = {
        "memory": _memory,
        "pkcs11": _pkcs11,
        "cluster": _cluster,
    }
    found = {}
    for name in names:
        try:
            found[name] = openers[name](material, stack)
        except CannotRunError as error:
            remedy = f": {error.remedy}" if error.remedy else ""
            found[name] = KeyStore(name, failure=error.message + remedy)
    return found


def _memory(material: Material, stack: ExitStack) -> KeyStore:
    return KeyStore("memory", words="in the benchmark's own memory")


def _pkcs11(material: Material, stack: ExitStack) -> KeyStore:
    folder = material.folder / "token"
    folder.mkdir()
    token = make_token(folder, material.client)
    settings = {
        "pkcs11.library": str(token.module),
        "pkcs11.pin": token.pin,
        "pkcs11.label": token.label,
    }
    return KeyStore("pkcs11", settings, {"SOFTHSM2_CONF": str(token.config)}, words=token.words)


def _cluster(material: Material, stack: ExitStack) -> KeyStore:
    folder: Path = material.folder / "cluster"
    folder.mkdir()
    cluster = stack.enter_context(start_cluster(folder, material.client))
    return KeyStore("cluster", cluster.settings(), cluster=cluster, words=cluster.describe())
