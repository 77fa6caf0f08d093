"""A host on this machine: each run is a separate engine, a child process.

Imports only Python's standard library and light modules, because nodes of a cluster run it.
"""

import contextlib
import json
import os
import platform
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tlslab.domain.errors import EngineError
from tlslab.lab.engine_output import EventLines, answer, answer_of
from tlslab.lab.generators.host import HostFacts, HostLostError
from tlslab.orphans import bound

# The time limit for an engine to end and to write its answer, in seconds.
RESULT_S = 10.0

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class LocalHost:
    """A host on this machine; several such hosts share its processors."""

    def __init__(self, name: str, program: str, processors: Sequence[int] | None = None) -> None:
        usable = tuple(sorted(os.sched_getaffinity(0)))
        self._program = program
        self._open: list[EngineConversation] = []
        self.facts = HostFacts(
            name=name,
            processors=usable if processors is None else tuple(processors),
            architecture=platform.machine(),
            boot_id=boot_id(),
        )

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC in nanoseconds."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    def open(self, spec: Mapping[str, Any], flags: Sequence[str]) -> "EngineConversation":
        """Starts an engine that gets ready and waits for the start."""
        line = [self._program, "--spec", "-", "--json", "--events", "--barrier", *flags]
        conversation = EngineConversation(line, spec)
        self._open = [each for each in self._open if not each.ended()] + [conversation]
        return conversation

    def ask(self, flags: Sequence[str], given: bytes, seconds: float) -> dict[str, Any]:
        """The engine's answer without load. Raises EngineError."""
        try:
            done = subprocess.run(
                [*bound("KILL"), self._program, *flags],
                input=given,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise EngineError(
                "engine_hangs", f"the engine did not end within {seconds:.0f} s"
            ) from None
        return answer_of(done)

    def close(self) -> None:
        """Ends all engines that still run."""
        for conversation in self._open:
            conversation.close()
        self._open = []


class EngineConversation:
    """One engine on this machine, from its specification to its record.

    Open it in a thread that outlives it: the kernel ends the engine with that thread.
    """

    def __init__(self, command_line: Sequence[str], spec: Mapping[str, Any]) -> None:
        # KILL on the death of this process: nothing else would end the engine or read its output.
        self._child = subprocess.Popen(
            [*bound("KILL"), *command_line],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._lines = EventLines(self._events.put)
        self._output: list[bytes] = []
        self._killed = False
        self._readers = [
            self._reader(self._child.stderr, self._lines.feed, last=True),
            self._reader(self._child.stdout, self._output.append),
        ]
        self._write(json.dumps(spec))

    def events(self, wait_s: float) -> list[dict[str, Any]]:
        """The events since the last call; waits for the first one."""
        found: list[dict[str, Any]] = []
        with contextlib.suppress(queue.Empty):
            event = self._events.get(timeout=max(0.0, wait_s))
            while event is not None:
                found.append(event)
                event = self._events.get_nowait()
            # The end mark stays in the queue for later calls.
            self._events.put(None)
        return found

    def start(self, at_ns: int, unix_s: float) -> None:
        """Opens the barrier."""
        self._write(json.dumps({"start_at_ns": at_ns, "unix_s": unix_s}))

    def interrupt(self) -> None:
        """SIGINT: the engine ends with the record so far."""
        self._child.send_signal(signal.SIGINT)

    def result(self) -> dict[str, Any]:
        """The record. Raises EngineError, and HostLostError for an engine that was killed."""
        try:
            code = self._child.wait(RESULT_S)
        except subprocess.TimeoutExpired:
            raise EngineError(
                "engine_hangs", f"the engine did not end within {RESULT_S:.0f} s"
            ) from None
        for reader in self._readers:
            reader.join(RESULT_S)
        output = b"".join(self._output)
        if code < 0 and not output and not self._killed:
            raise HostLostError(f"its engine was ended by {signal.Signals(-code).name}")
        return answer(output, code, self._lines.words)

    def ended(self) -> bool:
        """Whether the engine has ended."""
        return self._child.poll() is not None

    def close(self) -> None:
        """Kills the engine if it still runs."""
        if not self.ended():
            self._killed = True
            self._child.kill()
            self._child.wait()
        for reader in self._readers:
            reader.join()
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _write(self, line: str) -> None:
        assert self._child.stdin
        # An engine that has ended gives the reason in its answer.
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(line.encode() + b"\n")
            self._child.stdin.flush()

    def _reader(self, stream: IO[bytes] | None, take: Any, last: bool = False) -> threading.Thread:
        def read() -> None:
            while stream is not None and (chunk := os.read(stream.fileno(), 1 << 16)):
                take(chunk)
            if last:
                self._events.put(None)

        thread = threading.Thread(target=read, name="engine", daemon=True)
        thread.start()
        return thread


def local_hosts(count: int, program: str) -> list[LocalHost]:
    """N hosts on this machine."""
    return [LocalHost(f"local-{number}", program) for number in range(1, count + 1)]


def boot_id() -> str:
    """The identity of the running kernel."""
    return _BOOT_ID.read_text("ascii").strip()
