"""Runs the engine as a child process: specification in, events during the run, a record out."""

import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tlslab.contract.hold import HoldRecord
from tlslab.contract.primitives import Primitives
from tlslab.contract.probe import ProbeRecord
from tlslab.contract.record import Preflight, RunRecord
from tlslab.domain.errors import EngineError
from tlslab.lab.engine_output import Event, EventLines, Listener, answer
from tlslab.lab.store import from_json
from tlslab.orphans import bound
from tlslab.servers.programs import require_program

__all__ = ["Engine", "Event", "Listener"]

# The engine's time beyond its windows, for connecting, verifying, draining and merging. Each of
# these steps has a deadline of ten seconds, so that only an engine that hangs takes longer.
SLACK_S = 60.0

# A probe ends by itself after two minutes.
PROBE_S = 120.0

# The options of an engine that reads its specification from standard input, and that only makes
# one verified connection.
SPEC = ("--spec", "-")
PREFLIGHT = ("--json", "--preflight", *SPEC)

# The lowest rate at which any machine opens connections, for deadlines of runs that end by count.
SLOWEST_PER_S = 50

PATIENCE_S = 2.0


class Questions:
    """The methods of a GeneratorPool that only ask one engine. Each raises EngineError."""

    def _ask(
        self,
        flags: Sequence[str],
        given: bytes,
        seconds: float,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The engine's answer; `given` is its standard input. Raises EngineError."""
        raise NotImplementedError

    def primitives(self, flags: Sequence[str]) -> Primitives:
        """See `GeneratorPool`."""
        data = self._ask(["--primitives", "--json", *flags], b"", SLACK_S)
        return from_json({"primitives": data["primitives"]}, Primitives)

    def in_memory(
        self,
        flags: Sequence[str],
        seconds: float = 0.0,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """See `GeneratorPool`."""
        return self._ask(["--in-memory", "--json", *flags], b"", seconds + SLACK_S, environment)

    def probe(self, spec: Mapping[str, Any]) -> ProbeRecord:
        """See `GeneratorPool`."""
        data = self._ask(["--json", "--probe", *SPEC], as_input(spec), PROBE_S + SLACK_S)
        return from_json(data, ProbeRecord)


class Engine(Questions):
    """The load generator `tlslab-load`, as a pool of one."""

    # The number of generators, and the number with which the search for a maximum starts.
    size = 1
    first = 1

    def __init__(self, program: str) -> None:
        self._program = program

    def run(
        self,
        spec: Mapping[str, Any],
        listener: Listener,
        trace: Path | None = None,
        most: int | None = None,
    ) -> RunRecord:
        """Makes one run; each event goes to the listener as soon as it arrives. Raises EngineError.

        The instants of each connection go to the file `trace`, if given.
        """
        opening = spec.get("load", {}).get("open_within_ms", 0)
        stop = spec["stop"]
        windows = (opening + spec["warmup_ms"] + stop.get("duration_ms", 0)) / 1000
        windows += stop.get("count", 0) / SLOWEST_PER_S
        flags = ["--json", "--events"] + ([] if trace is None else ["--trace", str(trace)])
        data = self._ask([*flags, *SPEC], as_input(spec), windows + SLACK_S, listener=listener)
        return from_json(data, RunRecord)

    def preflight(self, spec: Mapping[str, Any]) -> tuple[Preflight, str]:
        """Makes one verified connection; returns its findings and the back end that made it."""
        data = self._ask(PREFLIGHT, as_input(spec), SLACK_S)
        return from_json(data["preflight"], Preflight), str(data["backend"])

    def hold(
        self, spec: Mapping[str, Any], levels: Sequence[int], dwell_s: float, listener: Listener
    ) -> HoldRecord:
        """Holds idle connections at each level; an event reports each level. Raises EngineError."""
        flags = ["--json", "--events", *SPEC, "--hold", ",".join(map(str, levels))]
        flags += ["--dwell", f"{dwell_s:g}s"]
        seconds = len(levels) * dwell_s + levels[-1] / SLOWEST_PER_S + SLACK_S
        return from_json(self._ask(flags, as_input(spec), seconds, listener=listener), HoldRecord)

    def _ask(
        self,
        flags: Sequence[str],
        given: bytes,
        seconds: float,
        environment: Mapping[str, str] | None = None,
        listener: Listener = lambda event: None,
    ) -> dict[str, Any]:
        # KILL on the lab's death: an engine without its lab must not continue to load a server.
        command = [*bound("KILL"), self._program, *flags]
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        try:
            output, words = _converse(child, given, seconds, listener)
            return answer(output, child.wait(), words)
        finally:
            _end(child)


def as_input(spec: Mapping[str, Any]) -> bytes:
    """A specification as the engine's standard input."""
    return json.dumps(spec).encode()


def _converse(
    child: subprocess.Popen[bytes], spec: bytes, seconds: float, listener: Listener
) -> tuple[bytes, str]:
    """Writes the specification, passes events on; returns standard output and other messages."""
    assert child.stdin
    assert child.stdout
    assert child.stderr
    try:
        child.stdin.write(spec)
        child.stdin.close()
    except BrokenPipeError:
        pass  # The engine ended before reading; its messages on standard error give the reason.
    output: list[bytes] = []
    lines = EventLines(listener)
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ, output.append)
        selector.register(child.stderr, selectors.EVENT_READ, lines.feed)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise EngineError("engine_hangs", f"the engine did not end within {seconds:.0f} s")
            for key, _ in ready:
                if chunk := os.read(key.fd, 1 << 16):
                    key.data(chunk)
                else:
                    selector.unregister(key.fileobj)
    return b"".join(output), lines.words


def _end(child: subprocess.Popen[bytes]) -> None:
    """Makes sure that the engine has ended, whatever happened before."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()


def local_pool() -> Engine:
    """The engine on this machine. Raises CannotRunError if it is missing."""
    return Engine(require_program("tlslab-load"))
