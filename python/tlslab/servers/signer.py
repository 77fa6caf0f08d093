"""A cluster of signing nodes: OpenBao's transit engine in processes of the lab's own.

Each node runs in a network namespace of its own where that can be had, else on loopback, which
`SigningCluster.note` says. All hold the same key. Clients learn of them by a JSON file:

    {"schema": "tlslab.signers/1",
     "nodes": [{"name": "a", "url": "https://198.18.0.2:8200", "weight": 50}, ...],
     "authority": "/.../authority.pem",  whom to trust for the nodes' certificates (PEM)
     "token_file": "/.../token",         one line, for the header X-Vault-Token
     "public_key": "/.../public.pem",    the key's public half (PEM)
     "key": "client",                    POST {url}/v1/transit/sign/client/sha2-256
     "timeout_ms": 1000}                 for a whole signature, the connection included

The token may sign and nothing else. A request's body is {"input": BASE64 of the digest,
"prehashed": true, "signature_algorithm": "pkcs1v15" or "pss", "salt_length": "hash"}; the answer's
{"data": {"signature": "vault:v1:BASE64"}}. Clients ask by smooth weighted round robin, once, and
leave nobody out for having failed.
"""

import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from tlslab.domain.errors import CannotRunError
from tlslab.servers.base import pinned, require
from tlslab.servers.certificates import Authority
from tlslab.servers.namespaces import Namespace, namespaces, obstacle
from tlslab.servers.openbao import NodeApi, set_up
from tlslab.servers.process import PATIENCE_S, ServerProcess
from tlslab.user_folders import user_folder

SCHEMA = "tlslab.signers/1"
KEY_NAME = "client"
PORT = 8200
START_S = 30.0
REMEDY = "build it with scripts/build-signer.sh, or name it with TLSLAB_SIGNER"

LOOPBACK = "127.0.0.1"


PERIOD_S = 0.1


class Throttle:
    """Stops and continues one process in turns, from a thread of its own."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, share: float) -> None:
        """Lets the process run for this share of each period, from 0 (frozen) to 1 (untouched)."""
        self.end()
        self._stop.clear()
        self._thread = threading.Thread(
            target=self._alternate, args=(min(max(share, 0.0), 1.0),), name="throttle", daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        """Lets the process run freely again; does nothing without a start."""
        if self._thread is None:
            return
        self._stop.set()
        self._thread.join()
        self._thread = None
        self._send(signal.SIGCONT)

    def _alternate(self, share: float) -> None:
        while not self._stop.is_set():
            if share < 1:
                self._send(signal.SIGSTOP)
            self._stop.wait(PERIOD_S * (1 - share))
            if share > 0:
                self._send(signal.SIGCONT)
            self._stop.wait(PERIOD_S * share)

    def _send(self, number: signal.Signals) -> None:
        try:
            os.kill(self._pid, number)
        except ProcessLookupError:
            self._stop.set()


@dataclass(frozen=True)
class ClusterSetting:
    """The settings of a cluster.

    `folder`: private to the run. `key`: the private key to sign with (PKCS #8 in PEM, RSA).
    `weights`: one number per node. `processors`: those to pin all nodes to (none: not pinned).
    `isolated`: network namespaces, if they are available.
    """

    folder: Path
    key: Path
    weights: tuple[int, ...] = (50, 50)
    timeout_ms: int = 1000
    processors: tuple[int, ...] = ()
    isolated: bool = True


@dataclass(frozen=True)
class SigningNode:
    """A running node. `process.tree()` has the processes to measure."""

    name: str
    url: str
    weight: int
    process: ServerProcess
    throttle: Throttle

    def slow(self, share: float) -> None:
        """Limits the node to this share of processor time, like a CPU quota; 0 freezes the node."""
        self.throttle.start(share)

    def restore(self) -> None:
        """Removes the limit."""
        self.throttle.end()

    def kill(self) -> None:
        """Kills the node, like a crash."""
        self.throttle.end()
        self.process.popen.kill()
        self.process.popen.wait()

    def stop(self) -> None:
        """Shuts the node down."""
        self.throttle.end()
        self.process.stop()


@dataclass(frozen=True)
class SigningCluster:
    """Running nodes, the file that describes them to clients, and a note for records."""

    nodes: tuple[SigningNode, ...]
    description: Path
    software: str
    note: str

    @property
    def processes(self) -> tuple[int, ...]:
        """The processes of all nodes that still run."""
        return tuple(process.pid for node in self.nodes for process in node.process.tree())

    @contextmanager
    def on(self, processors: Collection[int]) -> Iterator[None]:
        """Keeps all nodes on these processors, for the duration of the block."""
        before = os.sched_getaffinity(0)
        self._move(processors)
        try:
            yield
        finally:
            self._move(before)

    def _move(self, processors: Collection[int]) -> None:
        """Moves every thread; a thread that starts meanwhile has its parent's processors.

        Twice: a thread may have been started by one that was not moved yet.
        """
        for process in (*self.processes, *self.processes):
            with suppress(FileNotFoundError, ProcessLookupError):
                for thread in os.listdir(f"/proc/{process}/task"):
                    with suppress(ProcessLookupError):
                        os.sched_setaffinity(int(thread), processors)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The nodes' addresses, for programs that need permission to connect to them."""
        return tuple(node.url.split("//")[1].rsplit(":", 1)[0] for node in self.nodes)


def find_signer() -> str | None:
    """The signing node's program: TLSLAB_SIGNER, or the one built by scripts/build-signer.sh."""
    named = os.environ.get("TLSLAB_SIGNER")
    if named:
        return shutil.which(named)
    cache = user_folder("XDG_CACHE_HOME", ".cache")
    if cache is None:
        return None
    return shutil.which(str(cache / "tlslab" / "signer" / "current" / "tlslab-signer"))


@contextmanager
def signing_cluster(setting: ClusterSetting) -> Iterator[SigningCluster]:
    """The cluster, for the duration of the block. Raises CannotRunError."""
    program = require(find_signer(), "the signing node tlslab-signer", REMEDY)
    setting.folder.mkdir(parents=True, exist_ok=True)
    hindrance = obstacle() if setting.isolated else "network namespaces were not asked for"
    with ExitStack() as stack:
        spaces: Sequence[Namespace | None] = [None] * len(setting.weights)
        if hindrance is None:
            spaces = stack.enter_context(namespaces(len(setting.weights)))
        nodes = tuple(_started(setting, program, spaces, stack))
        software = "OpenBao 2.4.0, transit engine"
        place = "each in a network namespace" if hindrance is None else f"loopback: {hindrance}"
        yield SigningCluster(nodes, _describe(setting, nodes), software, place)


def _started(
    setting: ClusterSetting, program: str, spaces: Sequence[Namespace | None], stack: ExitStack
) -> Iterator[SigningNode]:
    authority = Authority(setting.folder)
    addresses = tuple(space.address for space in spaces if space is not None)
    files = authority.issue("ecdsa-p256", addresses=addresses)
    (setting.folder / "authority.pem").write_text(authority.trust_pem, "ascii")
    token = secrets.token_urlsafe(24)
    _write_secret(setting.folder / "token", token)
    key = setting.key.read_bytes()
    for number, (weight, space) in enumerate(zip(setting.weights, spaces, strict=True)):
        name = chr(ord("a") + number)
        listen = f"{LOOPBACK}:0" if space is None else f"{space.address}:{PORT}"
        command = [
            *(() if space is None else space.enter()),
            program,
            f"-listen={listen}",
            f"-certificate={files.certificate}",
            f"-key={files.key}",
        ]
        process = ServerProcess(
            pinned(command, setting.processors, "KILL"),
            setting.folder / f"signer-{name}.log",
            capture=True,
        )
        stack.callback(process.stop)
        ready = _ready(process)
        set_up(
            NodeApi(ready["url"], ready["root_token"], authority.trust_pem), KEY_NAME, key, token
        )
        throttle = Throttle(process.pid)
        stack.callback(throttle.end)
        yield SigningNode(name, ready["url"], weight, process, throttle)


def _ready(process: ServerProcess) -> dict[str, str]:
    """The line that the node prints when it listens.

    Raises CannotRunError with the node's own words.
    """
    output = process.popen.stdout
    deadline = time.monotonic() + START_S
    while output is not None and time.monotonic() < deadline:
        readable, _, _ = select.select([output], [], [], 0.1)
        if readable:
            line = output.readline()
            if not line:
                with suppress(subprocess.TimeoutExpired):
                    process.popen.wait(PATIENCE_S)  # Its last words are then in the file.
                break
            try:
                reported = json.loads(line)
                return {"url": str(reported["url"]), "root_token": str(reported["root_token"])}
            except (ValueError, KeyError, TypeError):
                said = line[:200].decode("utf-8", "replace").strip()
                raise CannotRunError(f"the signing node does not start: it says {said!r}") from None
    raise CannotRunError(
        f"the signing node does not start: {process.last_words() or 'it says nothing'}"
    )


def _describe(setting: ClusterSetting, nodes: Sequence[SigningNode]) -> Path:
    key = serialization.load_pem_private_key(setting.key.read_bytes(), None)
    public = setting.folder / "public.pem"
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    description = setting.folder / "signers.json"
    reported = {
        "schema": SCHEMA,
        "nodes": [{"name": n.name, "url": n.url, "weight": n.weight} for n in nodes],
        "authority": str(setting.folder / "authority.pem"),
        "token_file": str(setting.folder / "token"),
        "public_key": str(public),
        "key": KEY_NAME,
        "timeout_ms": setting.timeout_ms,
    }
    description.write_text(json.dumps(reported, indent=1), "utf-8")
    return description


def _write_secret(file: Path, text: str) -> None:
    file.touch(mode=0o600)
    file.write_text(text, "ascii")
