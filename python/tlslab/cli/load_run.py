"""One run of the engine for `tlslab load`, with its events read and its progress shown."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

from tlslab.cli.console import say
from tlslab.cli.engine_error import PREFIX, is_conclusion
from tlslab.domain.errors import EngineError
from tlslab.domain.events import EngineEnded, GeneratorLost, Pace, Rate, RunEnded
from tlslab.domain.server_side import ServerSide
from tlslab.domain.trial import MachineUsage, ServerUsage
from tlslab.lab.accounting import Meter
from tlslab.lab.server_side.side import Side, SideMeter
from tlslab.report.live.state import State
from tlslab.servers.guard import bound

# Phases of the engine after the measurement.
_OVER = ("drain", "done")

# The kind of run for outside observers.
RUN = "load"

# The engine's exit codes for wrong usage, and for a run that was impossible.
_ERRORS = (2, 3)


@dataclass(frozen=True)
class Loaded:
    """The engine's exit code and standard output, and the machine's use over the engine's life.

    `machine` is None if its processors changed. `server` and `side` are those of the measurement
    alone; None if the engine did not measure. `error` is the engine's error line; empty without an
    error. `conclusion` is the engine's last line for people, with the reason of the exit code; it
    belongs after the output, and is empty if there was none.
    """

    code: int
    output: bytes
    machine: MachineUsage | None
    server: ServerUsage | None = None
    side: ServerSide | None = None
    error: str = ""
    conclusion: str = ""


def run_plainly(command_line: Sequence[str]) -> Loaded:
    """Runs the engine with its standard error passed through, except for its last line."""
    lines = Lines()
    meter = Meter([])
    meter.start()
    code, output = _converse(command_line, lines)
    meter.end()
    error = lines.error(code)
    return Loaded(code, output, machine_of(meter), error=error, conclusion=lines.conclusion)


def machine_of(meter: Meter) -> MachineUsage | None:
    """The machine's use; None, with a warning, if its processors changed."""
    try:
        return meter.machine()
    except EngineError as error:
        say(f"warning: {error.message}")
        return None


@dataclass(frozen=True)
class Shown:
    """The content of standard error: raw events, or a line for each second."""

    raw: bool
    lines: bool


def run_watched(command_line: Sequence[str], side: Side, shown: Shown, state: State) -> Loaded:
    """Runs the engine with `--events`, and reads the server's side during its measurement.

    `state` follows the run.
    """
    watcher = _Watcher(SideMeter(side), shown, state)
    meter = Meter([])
    meter.start()
    try:
        code, output = _converse(command_line, watcher)
    finally:
        meter.end()
        watcher.follower.close()
    error = watcher.error(code)
    loaded = Loaded(code, output, machine_of(meter), error=error, conclusion=watcher.conclusion)
    return watcher.follower.with_side(loaded)


def _converse(command_line: Sequence[str], lines: "Lines") -> tuple[int, bytes]:
    """The engine's exit code and standard output.

    The engine ends with the lab, even if the lab is killed. The lab passes an interruption on, so
    that the engine can still print the record so far.
    """
    child = subprocess.Popen(
        [*bound("KILL"), *command_line],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    reader = _Reader(child.stdout)
    try:
        reader.start()
        _watch(child, lines)
        reader.join()
        child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        _watch(child, lines)
        reader.join()
        child.wait()
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    return child.returncode, reader.output


def _watch(child: subprocess.Popen[bytes], lines: "Lines") -> None:
    for line in child.stderr or ():
        lines.line(line)


class _Reader(threading.Thread):
    """Reads standard output to its end."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        super().__init__(name="reader", daemon=True)
        self._stream = stream
        self.output = b""

    def run(self) -> None:
        if self._stream is not None:
            self.output = self._stream.read()


class Follower:
    """Reads the server's side during the measurement of a run, by the run's events.

    `state` follows the run for outside observers.
    """

    def __init__(self, meter: SideMeter, state: State) -> None:
        self._meter = meter
        self._state = state
        self._address = ""

    def follow(self, event: Mapping[str, Any]) -> None:
        """Takes the next event."""
        match event["event"]:
            case "preflight":
                self._address = str(event.get("address"))
                self._meter.locate(self._address)
                self._state.locate(self._address)
            case "phase":
                self._phase(str(event.get("phase")))
            case "progress":
                busy = self._meter.meter.server_processors()
                pace = replace(Pace.of(event), server_processors=busy)
                self._state.take(Rate(self._address, RUN, pace))
            case "ended":
                self._state.take(RunEnded(self._address, RUN, EngineEnded.of(event)))
            case "lost":
                self._state.take(GeneratorLost.of(event))

    def _phase(self, phase: str) -> None:
        if phase == "measure":
            self._meter.start()
        elif phase in _OVER and not self._meter.meter.complete:
            self._meter.end()

    def close(self) -> None:
        """Ends everything that reads beside the run."""
        self._meter.close()

    def with_side(self, loaded: Loaded) -> Loaded:
        """The result with the use of the server's side, if there was a measurement."""
        if not self._meter.meter.complete:
            return loaded
        server, side = self._meter.result()
        return replace(loaded, server=server, side=side)


class Lines:
    """Passes the engine's lines on, except the last one that may be its error.

    `conclusion`: the line with the reason of the exit code, if there was one.
    """

    def __init__(self) -> None:
        self._kept = ""
        self.conclusion = ""

    def line(self, line: bytes) -> None:
        """Takes one line of standard error."""
        text = line.decode("utf-8", "replace")
        if is_conclusion(text):
            self.conclusion = text.strip()
            return
        if text.startswith(PREFIX):
            text, self._kept = self._kept, text
        sys.stderr.write(text)
        sys.stderr.flush()

    def error(self, code: int) -> str:
        """The engine's error; with another exit code, empty, and the line is passed on."""
        if code in _ERRORS:
            return self._kept
        sys.stderr.write(self._kept)
        return ""


class _Watcher(Lines):
    """Takes the engine's lines: meters by its phases, shows its progress, passes on the rest."""

    def __init__(self, meter: SideMeter, shown: Shown, state: State) -> None:
        super().__init__()
        self.follower = Follower(meter, state)
        self._shown = shown

    def line(self, line: bytes) -> None:
        """Takes one line of standard error."""
        event = _event(line)
        if event is None or self._shown.raw:
            super().line(line)
        if event is None:
            return
        self.follower.follow(event)
        if event["event"] == "progress" and self._shown.lines and not self._shown.raw:
            say(progress_line(event))


def _event(line: bytes) -> Mapping[str, Any] | None:
    try:
        data = json.loads(line)
    except ValueError:
        return None
    return data if isinstance(data, dict) and "event" in data else None


def progress_line(event: Mapping[str, Any]) -> str:
    """One second of a run for people, in the engine's own words; times are of that second."""
    pace = Pace.of(event)
    line = (
        f"{event['at_s']:4.0f} s  {pace.connections_per_s:8,.0f} connections/s  "
        f"{pace.requests_per_s:8,.0f} requests/s  {pace.in_flight:5,} in flight  "
        f"{pace.failed:,} failed"
    )
    if event.get("waiting"):
        line += f"  {event['waiting']:,} waiting"
    for name in ("service", "response", "exchange"):
        times = event.get(name)
        if times and not (name == "exchange" and event.get("service")):
            line += f"  {name} p50 {times['p50_ms']:.2f} p99 {times['p99_ms']:.2f} ms"
    return line
