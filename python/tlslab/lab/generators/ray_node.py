"""The program on a node of a Ray cluster: a `LocalHost` that ends itself if its head is silent.

The head sends this module and its imports by value: a node needs Ray, but not tlslab. Therefore
this module imports only the standard library and light modules of tlslab. Errors are returned as
data, because Ray wraps exceptions in its own.
"""

import hashlib
import itertools
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from tlslab.domain.errors import EngineError
from tlslab.lab.generators.host import HostFacts, HostLostError
from tlslab.lab.generators.local import EngineConversation, LocalHost, boot_id

# The time that a call may take beyond its own waiting time; after that the host is lost.
PATIENCE_S = 3.0

# The time limit for an engine to start, or to merge and write its record (`local.RESULT_S`).
ENGINE_S = 10.0


class Calls(Protocol):
    """Calls a method of a node; raises HostLostError without an answer within `seconds`."""

    def __call__(self, method: str, *arguments: Any, seconds: float) -> Any:
        """The result of the method on the node."""

    def close(self) -> None:
        """Ends the node and all engines there. May be called twice."""


class RemoteHost:
    """A `host.Host` by calls."""

    def __init__(self, facts: HostFacts, calls: Calls) -> None:
        self.facts = facts
        self._calls = calls
        self._numbers = itertools.count(1)

    def now_ns(self) -> int:
        """See `host.Host`."""
        return int(self._calls("now_ns", seconds=PATIENCE_S))

    def open(self, spec: Mapping[str, Any], flags: Sequence[str]) -> "RemoteConversation":
        """See `host.Host`."""
        number = next(self._numbers)
        seconds = ENGINE_S + PATIENCE_S
        _taken(self._calls("open", number, dict(spec), list(flags), seconds=seconds))
        return RemoteConversation(self._calls, number)

    def ask(self, flags: Sequence[str], given: bytes, seconds: float) -> dict[str, Any]:
        """See `host.Host`."""
        waiting = seconds + PATIENCE_S
        answer: dict[str, Any] = _taken(
            self._calls("ask", list(flags), given, seconds, seconds=waiting)
        )
        return answer

    def close(self) -> None:
        """See `host.Host`."""
        self._calls.close()


class RemoteConversation:
    """A `host.Conversation` by calls: conversation `number` of the node."""

    def __init__(self, calls: Calls, number: int) -> None:
        self._calls = calls
        self._number = number

    def events(self, wait_s: float) -> list[dict[str, Any]]:
        """See `host.Conversation`."""
        events: list[dict[str, Any]] = self._call("events", wait_s, seconds=wait_s)
        return events

    def start(self, at_ns: int, unix_s: float) -> None:
        """See `host.Conversation`."""
        self._call("start", at_ns, unix_s)

    def interrupt(self) -> None:
        """See `host.Conversation`."""
        self._call("interrupt")

    def result(self) -> dict[str, Any]:
        """See `host.Conversation`."""
        record: dict[str, Any] = self._call("result", seconds=2 * ENGINE_S)
        return record

    def ended(self) -> bool:
        """See `host.Conversation`."""
        return bool(self._call("ended"))

    def close(self) -> None:
        """See `host.Conversation`; nothing can be closed on a lost host."""
        with suppress(HostLostError):
            self._call("close", seconds=ENGINE_S)

    def _call(self, method: str, *arguments: Any, seconds: float = 0.0) -> Any:
        seconds += PATIENCE_S
        return _taken(self._calls("call", self._number, method, *arguments, seconds=seconds))


def _taken(answer: tuple[str, Any]) -> Any:
    """The result of a node's call. Raises the error that it raised there."""
    kind, given = answer
    if kind == "engine":
        raise EngineError(*given)
    if kind == "lost":
        raise HostLostError(given)
    return given


# Removes a folder when its input ends, which happens at the actor's death, however it dies. The
# process is not a child of the actor: an actor that is ended in order kills its children first.
_REMOVE_AT_THE_END = ["setsid", "--fork", "sh", "-c", 'read -r _; rm -rf -- "$0"']

# The time limit for a program to print its version, in seconds.
_VERSION_S = 10.0


class Node:
    """The actor on a node. It ends itself and all engines when its head is silent."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._heard = time.monotonic()
        self._host: LocalHost | None = None
        self._conversations: dict[int, EngineConversation] = {}
        self._remover: subprocess.Popen[bytes] | None = None
        # Engines get a signal when the thread that starts them dies, and they inherit its niceness.
        # Therefore this thread belongs to the actor, not to Ray.
        self._starter = ThreadPoolExecutor(1, "starter", initializer=ordinary_nice)
        threading.Thread(target=self._watch, name="watch", daemon=True).start()

    def _watch(self) -> None:
        while time.monotonic() - self._heard < self._patience_s:
            time.sleep(min(1.0, self._patience_s / 4))
        # The kernel then kills the engines, a shell removes the folder, and Ray finds a dead actor.
        os._exit(1)

    def beat(self) -> None:
        """A sign of life from the head."""
        self._heard = time.monotonic()

    def facts(self, program: str) -> dict[str, Any]:
        """The facts of this node; `sha256` is that of its own program, empty without one."""
        self.beat()
        found = _find(program)
        return {
            "hostname": socket.gethostname(),
            "processors": sorted(os.sched_getaffinity(0)),
            "architecture": platform.machine(),
            "boot_id": boot_id(),
            "nice": self._starter.submit(ordinary_nice).result(),
            "authentication": os.environ.get("RAY_AUTH_MODE", ""),
            "program": found,
            "sha256": _sha256(Path(found).read_bytes()) if found else "",
        }

    def use(self, program: str) -> None:
        """Takes the node's own program as the engine."""
        self.beat()
        self._host = LocalHost("", program)

    def install(self, name: str, content: bytes, sha256: str) -> str:
        """Stores a program in a private folder until the end.

        Returns the reason of a failure, or empty.
        """
        self.beat()
        if _sha256(content) != sha256:
            return "the program arrived damaged"
        folder = tempfile.mkdtemp(prefix="tlslab-node-")
        self._remover = subprocess.Popen(
            [*_REMOVE_AT_THE_END, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._remover.wait()  # The remover has forked; its input stays open.
        path = Path(folder) / name
        path.write_bytes(content)
        path.chmod(0o700)
        if refusal := _refusal(path):
            return f"its copy of {name} does not run there: {refusal}"
        self.use(str(path))
        return ""

    def open(self, number: int, spec: Mapping[str, Any], flags: Sequence[str]) -> tuple[str, Any]:
        """Opens conversation `number`; returns what `call` returns."""
        self.beat()
        assert self._host is not None  # `use` or `install` comes first.
        answer = _reported(self._starter.submit(self._host.open, spec, flags).result)
        if not answer[0]:
            self._conversations[number] = answer[1]
        return answer[0], None if not answer[0] else answer[1]

    def ask(self, flags: Sequence[str], given: bytes, seconds: float) -> tuple[str, Any]:
        """The engine's answer without load, as `call` returns it."""
        self.beat()
        assert self._host is not None
        return _reported(self._starter.submit(self._host.ask, flags, given, seconds).result)

    def call(self, number: int, method: str, *arguments: Any) -> tuple[str, Any]:
        """Calls a method of a conversation.

        Returns the class of the error that it raised, `engine` or `lost`, with the error's parts;
        or no class and the method's result.
        """
        self.beat()
        conversation = self._conversations.get(number)
        if conversation is None:
            return "lost", "its node has begun anew"
        if method == "close":
            del self._conversations[number]
        return _reported(lambda: getattr(conversation, method)(*arguments))

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC."""
        self.beat()
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def _reported(act: Any) -> tuple[str, Any]:
    try:
        return "", act()
    except EngineError as error:
        return "engine", (error.class_, error.message, error.remedy, error.status)
    except HostLostError as error:
        return "lost", error.reason
    except OSError as error:
        return "engine", ("engine_failed", f"{error.filename}: {error.strerror}", "")


def _refusal(program: Path) -> str:
    """The reason that a program does not run here; empty if it runs."""
    try:
        command = [str(program), "--version"]
        done = subprocess.run(command, capture_output=True, timeout=_VERSION_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return getattr(error, "strerror", "") or "it does not end"
    words = " ".join(done.stderr.decode("utf-8", "replace").split())
    return "" if done.returncode == 0 else words[:300] or f"code {done.returncode}"


def _find(name: str) -> str:
    """A program beside this Python or on the PATH; empty without one."""
    beside = Path(sys.executable).parent / name
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(name) or ""


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def ordinary_nice() -> int:
    """The calling thread's niceness, after an attempt to set it to 0.

    Ray runs its workers at niceness 15 by default, and children inherit it.
    """
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    return os.getpriority(os.PRIO_PROCESS, 0)
