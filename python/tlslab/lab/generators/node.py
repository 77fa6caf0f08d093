"""What runs on a node of a Ray cluster: it keeps engines, and ends them when the head is silent.

The head sends this module along, by value: a node needs Ray, and tlslab's Python package need not
be installed there. So it imports the standard library only, knows nothing of specifications and
records, and passes on what engines print as it is.
"""

import hashlib
import os
import platform
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

# Goes on only while its parent is the actor, whose id it is given (see `tlslab.targets.guard`).
_ORPHANS_END = '[ "$PPID" = "$0" ] && exec "$@"'

# Its input ends with the actor, however that ends.
_REMOVE_AT_THE_END = 'read -r _; rm -rf -- "$0"'

# The most lines of other words that a child's answer repeats.
_WORDS = 5


class Child:
    """An engine: its events by line, its standard output, and its other words on standard error."""

    def __init__(self, command: Sequence[str], given: bytes, more: bool) -> None:
        self._news = threading.Condition()
        self._events: deque[str] = deque()
        self._words: deque[str] = deque(maxlen=_WORDS)
        self._output: list[bytes] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._failure = ""
        self.code: int | None = None
        # A thread of its own: the kernel sends the signal of `setpriv --pdeathsig` on the death of
        # the thread that started the child, and Ray's threads are Ray's to end.
        threading.Thread(target=self._live, args=(command, given, more), daemon=True).start()
        with self._news:
            self._news.wait_for(lambda: self._process is not None or self.code is not None)

    def _live(self, command: Sequence[str], given: bytes, more: bool) -> None:
        bound = ["setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", _ORPHANS_END]
        pipe = subprocess.PIPE
        ordinary_nice()  # Of this thread, which the child inherits.
        try:
            process = subprocess.Popen(
                [*bound, str(os.getpid()), *command],
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
            )
        except OSError as error:
            self._end(127, f"{error.filename}: {error.strerror}")
            return
        with self._news:
            self._process = process
            self._news.notify_all()
        self.write(given, close=not more)
        self._read(process)
        self._end(process.wait())

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        pending = b""
        assert process.stdout
        assert process.stderr
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    chunk = os.read(key.fd, 1 << 16)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is process.stdout:
                        self._output.append(chunk)
                    else:
                        *lines, pending = (pending + chunk).split(b"\n")
                        self._take(lines)

    def _take(self, lines: Sequence[bytes]) -> None:
        with self._news:
            for line in (line.decode("utf-8", "replace").strip() for line in lines):
                if line.startswith("{"):
                    self._events.append(line)
                elif line:
                    self._words.append(line)
            self._news.notify_all()

    def _end(self, code: int, words: str = "") -> None:
        with self._news:
            if words:
                self._words.append(words)
            self.code = code
            self._news.notify_all()

    def write(self, text: bytes, close: bool) -> None:
        """Writes to its standard input; one that has ended before it read says why elsewhere."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.closed:
            return
        with suppress(BrokenPipeError):
            process.stdin.write(text)
            process.stdin.flush()
            if close:
                process.stdin.close()

    def events(self, wait_s: float) -> list[str]:
        """The events since the last call; waits for the first one unless the engine has ended."""
        with self._news:
            self._news.wait_for(lambda: self._events or self.code is not None, wait_s)
            taken = list(self._events)
            self._events.clear()
            return taken

    def outcome(self, wait_s: float) -> tuple[int | None, bytes, str]:
        """Exit code (None: it runs on), standard output, and the last other words."""
        with self._news:
            self._news.wait_for(lambda: self.code is not None, wait_s)
            return self.code, b"".join(self._output), "; ".join(self._words)

    def signal(self, number: int) -> None:
        """Sends a signal to the engine, unless it has ended."""
        if self._process is not None and self.code is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def close(self) -> None:
        """Kills it."""
        self.signal(signal.SIGKILL)
        self.write(b"", close=True)


class Node:
    """The actor on a node. It ends itself, with all engines, when it hears nothing of its head."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._heard = time.monotonic()
        self._children: dict[int, Child] = {}
        self._program = ""
        self._remover: subprocess.Popen[bytes] | None = None
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while time.monotonic() - self._heard < self._patience_s:
            time.sleep(min(1.0, self._patience_s / 4))
        # The kernel then kills the engines, and a shell removes the folder. Ray finds a dead actor.
        os._exit(1)

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC."""
        self._heard = time.monotonic()
        return time.monotonic_ns()

    def facts(self, program: str) -> dict[str, Any]:
        """What is known of this node; `sha256` is that of its own program, empty without one."""
        self._heard = time.monotonic()
        found = _find(program)
        return {
            "hostname": socket.gethostname(),
            "processors": sorted(os.sched_getaffinity(0)),
            "architecture": platform.machine(),
            "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip(),
            "nice": ordinary_nice(),
            "authentication": os.environ.get("RAY_AUTH_MODE", ""),
            "program": found,
            "sha256": _sha256(Path(found).read_bytes()) if found else "",
        }

    def use(self, program: str) -> None:
        """Takes the node's own program as the engine."""
        self._heard = time.monotonic()
        self._program = program

    def install(self, name: str, content: bytes, sha256: str) -> str:
        """Keeps a program in a private folder until the end; why not, or nothing."""
        self._heard = time.monotonic()
        if _sha256(content) != sha256:
            return "the program arrived damaged"
        folder = tempfile.mkdtemp(prefix="tlslab-node-")
        self._remover = subprocess.Popen(
            ["sh", "-c", _REMOVE_AT_THE_END, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        path = Path(folder) / name
        path.write_bytes(content)
        path.chmod(0o700)
        self._program = str(path)
        child = Child([self._program, "--version"], b"", more=False)
        code, _, words = child.outcome(10.0)
        return "" if code == 0 else f"{path} does not run there: {words or f'code {code}'}"

    def start(self, number: int, arguments: Sequence[str], given: bytes, more: bool) -> None:
        """Starts the engine as child `number`; `more`: its input stays open for `write`."""
        self._heard = time.monotonic()
        self._children[number] = Child([self._program, *arguments], given, more)

    def write(self, number: int, text: bytes) -> None:
        """Writes the last of a child's input."""
        self._heard = time.monotonic()
        self._children[number].write(text, close=True)

    def events(self, number: int, wait_s: float) -> tuple[list[str], bool]:
        """A child's events since the last call, and whether it has ended."""
        self._heard = time.monotonic()
        child = self._children[number]
        taken = child.events(wait_s)
        return taken, child.code is not None

    def outcome(self, number: int, wait_s: float) -> tuple[int | None, bytes, str]:
        """A child's exit code (None: it runs on), standard output, and last other words."""
        self._heard = time.monotonic()
        return self._children[number].outcome(wait_s)

    def signal(self, number: int, which: int) -> None:
        """Sends a signal to a child."""
        self._heard = time.monotonic()
        self._children[number].signal(which)

    def end(self, number: int) -> None:
        """Kills a child, if it still runs, and forgets it."""
        self._heard = time.monotonic()
        child = self._children.pop(number, None)
        if child is not None:
            child.close()


def _find(name: str) -> str:
    """A program beside this Python or on the PATH; empty without one."""
    beside = Path(sys.executable).parent / name
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(name) or ""


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def ordinary_nice() -> int:
    """The calling thread's niceness, after an attempt to make it that of other programs.

    Ray runs its workers at 15 unless told otherwise, and children inherit that.
    """
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    return os.getpriority(os.PRIO_PROCESS, 0)
