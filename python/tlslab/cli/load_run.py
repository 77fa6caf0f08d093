"""The work of `tlslab load`: tlslab-load with its own output, and the use of the machine beside it.

Standard output is the engine's. The lab reads the events on standard error: with them it meters the
server, shows a line for each second, and serves the page and the metrics of the run.
"""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude, out, say, show_error
from tlslab.cli.ending import EXIT_INTERRUPTED, EXIT_VERDICT
from tlslab.cli.load_arguments import (
    FAIL_IF,
    FORMS,
    GENERATORS,
    HELP,
    LIVE,
    METRICS,
    ON_LOST_HOST,
    OTHER,
    OWN,
    OWN_HELP,
    RUN,
    SERVER_METRICS,
    WORDS,
    conditions_of,
    engine_arguments,
    gives_connections,
    has,
    mode_of,
    own_options,
    without_output,
)
from tlslab.cli.load_beside import beside_table
from tlslab.cli.shared_words import lost_words
from tlslab.cli.watching import Watching, watched
from tlslab.contract.record import RunRecord
from tlslab.domain.codec import to_json
from tlslab.domain.errors import CannotRunError, EngineError, UsageError
from tlslab.domain.events import EngineEnded, GeneratorLost, Pace, Rate, RunEnded
from tlslab.domain.trial import MachineUsage
from tlslab.domain.wording import counted
from tlslab.lab.engine_output import Event, answer_of
from tlslab.lab.generators.choose import check_generators, check_policy, several_generators
from tlslab.lab.generators.pool import LostInRunError
from tlslab.lab.generators.several import SeveralHosts
from tlslab.lab.metering.meter import Meter
from tlslab.lab.metering.side import Side, SideMeter
from tlslab.report.live.state import State
from tlslab.servers.guard import bound
from tlslab.servers.programs import require_program

# Phases of the engine after the measurement.
_OVER = ("drain", "done")

# Exit codes of a run that measured.
_MEASURED = (0, 1, 130)

# How the run is called outside.
_LOAD = "load"

# Options of a single engine on this machine, not available for several generators.
_OF_ONE = ("--trace", "--keylog", "--client-key", "--client-cert", "--source", "--barrier")

# Options for the engine's output, which the lab replaces by its own for several generators.
_SHOWN = ("--json", "--events", "--progress")

# The default of --connections for each worker, and the highest default: those of the engine.
EACH = 32
MOST = 10_000

# The time limit for the engine to print a specification, in seconds.
_PRINT_S = 30.0

_REASONS = {
    0: "valid",
    1: "a verdict is against the result",
    2: "wrong usage",
    130: "interrupted",
}


def load(arguments: Sequence[str]) -> int:
    """Runs the engine with these arguments; returns the exit code.

    Raises UsageError, CannotRunError.
    """
    given, own = own_options(arguments)
    mode, rest = mode_of(given)
    is_load = mode == RUN and not has(given, (*OTHER, *WORDS))
    watching = Watching.of(own.get(METRICS), own.get(LIVE))
    if GENERATORS in own:
        if not is_load:
            raise UsageError(
                f"{GENERATORS} is for a load, not for the engine's other modes",
                f"leave {GENERATORS} out, or the other mode",
            )
        return _by_several(rest, own, watching)
    as_it_is = not is_load or has(given, FORMS)
    _refuse(own, () if not as_it_is else (SERVER_METRICS,) if is_load else tuple(OWN))
    line = [require_program("tlslab-load"), *engine_arguments(given, read_allow_file())]
    if not is_load or (as_it_is and not watching.is_wanted):
        code = run_engine(line, _pass_on)
        if mode == RUN and has(given, HELP) and code == 0:
            sys.stdout.write(OWN_HELP)
        return code
    events = [] if has(line, ("--events",)) else ["--events"]
    shows_lines = not as_it_is or has(given, ("--progress",))
    kept_open = any(word.rpartition("=")[2] == "unlimited" for word in given)
    side = Side.of(own.get(SERVER_METRICS))
    with watched(_LOAD, watching) as state, _Beside(side, state, kept_open) as beside:
        follow = _Shown(beside, has(given, ("--events",)), shows_lines).line
        code = run_engine([line[0], *events, *line[1:]], follow)
        state.finish(_reason(code, has(given, (FAIL_IF,))))
    if not as_it_is and code in _MEASURED:
        beside.show()
    return code


def _refuse(own: Mapping[str, str], options: Sequence[str]) -> None:
    """Refuses options that belong to the lab. Raises UsageError."""
    for name in options:
        if name in own:
            raise UsageError(
                f"{name} has no place in the engine's own output",
                f"leave {name} out, or the option or mode that selects that output",
            )


def _reason(code: int, has_conditions: bool = False) -> str:
    if code == EXIT_VERDICT and has_conditions:
        return f"a verdict or a condition of {FAIL_IF} is against the result"
    return _REASONS.get(code, "it could not be done")


def run_engine(command_line: Sequence[str], take: Callable[[bytes], None]) -> int:
    """The engine's exit code. Its standard output is ours; `take` gets the lines of its standard
    error.

    The engine ends with the lab, even if the lab is killed. An interruption is passed on once, so
    that the engine can still print the record so far.
    """
    sys.stdout.flush()
    child = subprocess.Popen(
        [*bound("KILL"), *command_line], stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        try:
            return _conversed(child, take)
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            return _conversed(child, take)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def _conversed(child: subprocess.Popen[bytes], take: Callable[[bytes], None]) -> int:
    for line in child.stderr or ():
        take(line)
    return child.wait()


def _pass_on(line: bytes) -> None:
    sys.stderr.write(line.decode("utf-8", "replace"))
    sys.stderr.flush()


class _Beside:
    """Meters machine and server beside a run, by its events; `state` follows it for outsiders."""

    def __init__(self, side: Side, state: State, kept_open: bool) -> None:
        self._kept_open = kept_open
        self._server = SideMeter(side)
        self._machine = Meter([])
        self._state = state
        self._address = ""
        self._ended: EngineEnded | None = None

    def __enter__(self) -> "_Beside":
        self._machine.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._machine.end()
        self._server.close()

    def follow(self, event: Mapping[str, Any]) -> None:
        """Takes the next event."""
        match event["event"]:
            case "preflight":
                self._address = str(event.get("address"))
                self._server.locate(self._address)
                self._state.locate(self._address)
            case "phase":
                self._phase(str(event.get("phase")))
            case "progress":
                busy = self._server.meter.server_processors()
                pace = replace(Pace.of(event), server_processors=busy)
                self._state.take(Rate(self._address, _LOAD, pace))
            case "ended":
                self._ended = EngineEnded.of(event)
                self._state.take(RunEnded(self._address, _LOAD, self._ended))
            case "lost":
                self._state.take(GeneratorLost.of(event))

    def _phase(self, phase: str) -> None:
        if phase == "measure":
            self._server.start()
        elif phase in _OVER and not self._server.meter.complete:
            self._server.end()

    def show(self, of_engine: bool = True) -> None:
        """Prints what the machine and the server used, after the run.

        `of_engine`: the engine has printed the time of the server's process tree.
        """
        complete = self._server.meter.complete
        server, side = self._server.result() if complete else (None, None)
        if of_engine and side is not None and side.used == "process_tree":
            side = None
        table = beside_table(machine_of(self._machine), server, side, self._ended, self._kept_open)
        if table.row_count:
            out.print(table)


def machine_of(meter: Meter) -> MachineUsage | None:
    """The machine's use; None, with a warning, if its processors changed."""
    try:
        return meter.machine()
    except EngineError as error:
        say(f"warning: {error.message}")
        return None


class _Shown:
    """Shows a run's events on standard error: as they are, or a line for each second."""

    def __init__(self, beside: _Beside, events: bool, lines: bool) -> None:
        self._beside = beside
        self._events = events
        self._lines = lines

    def line(self, line: bytes) -> None:
        """Takes one line of an engine's standard error."""
        event = _event(line)
        if event is None or self._events:
            _pass_on(line)
        if event is not None:
            self._take(event)

    def __call__(self, event: Event) -> None:
        """Takes the next event of several generators."""
        if self._events:
            _pass_on(json.dumps(event).encode() + b"\n")
        self._take(event)

    def _take(self, event: Mapping[str, Any]) -> None:
        self._beside.follow(event)
        if self._events:
            return
        if event["event"] == "lost":
            say(lost_words(event["host"], event["reason"]))
        elif event["event"] == "progress" and self._lines:
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


def _by_several(given: Sequence[str], own: Mapping[str, str], watching: Watching) -> int:
    """Runs a load by several generators; returns the exit code."""
    wanted = check_generators(own[GENERATORS])
    assert wanted is not None
    policy = check_policy(own.get(ON_LOST_HOST, "fail"), wanted)
    spec, output = pool_spec(given, read_allow_file())
    if output is not None:
        # An earlier record stays until there is a new one.
        _into(output, "ab", b"")
    side = Side.of(own.get(SERVER_METRICS))
    with watched(_LOAD, watching) as state, several_generators(wanted, policy) as pool:
        if not gives_connections(given):
            spec = with_default(spec, pool.workers(spec))
        kept_open = spec.get("requests_per_connection") == "unlimited"
        with _Beside(side, state, kept_open) as beside, _interrupted_once(pool):
            record, code = _measured(pool, spec, _Shown(beside, has(given, ("--events",)), True))
        made, there = len(record.hosts), pool.size
        if made < there:
            # Each needs at least one connection.
            say(f"note: the load is enough for {made} of {counted(there, 'generator')}")
    data = json.dumps(to_json(record)).encode() + b"\n"
    if output is not None:
        _into(output, "wb", data)
    as_json, conditions = has(given, ("--json",)), conditions_of(given)
    if as_json and not conditions:
        _write(data)
        shown = code
    else:
        shown = _show_record(data, [*conditions, *(["--json"] if as_json else [])])
    reason = _reason(code)
    if code == 0 and shown != 0:
        code = shown
        reason = f"a condition of {FAIL_IF} holds" if code == EXIT_VERDICT else _reason(code)
    state.finish(reason)
    if as_json:
        return code
    beside.show(of_engine=False)
    return conclude(reason + (", see above" if code == EXIT_VERDICT else ""), code)


def _show_record(data: bytes, options: Sequence[str]) -> int:
    """Prints a merged record as the engine does with these options; returns its exit code."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(data)
        file.flush()
        said: list[bytes] = []
        merge = [require_program("tlslab-load"), "merge", *options, file.name]
        code = run_engine(merge, said.append)
    for line in said:
        # The engine's reason for its end is not always that of the run.
        if code not in _MEASURED or line.startswith(FAIL_IF.encode()):
            _pass_on(line)
    return code


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def pool_spec(given: Sequence[str], allowed: Sequence[str]) -> tuple[dict[str, Any], Path | None]:
    """The specification for the engine's options, and the file for the record.

    Raises UsageError for options that several generators cannot have, EngineError for wrong ones.
    """
    for option in (word.partition("=")[0] for word in given):
        if option in (*_OF_ONE, "--format"):
            raise UsageError(
                f"{option} is for one generator", f"leave {option} out, or --generators"
            )
    line, output = without_output([word for word in given if word not in _SHOWN])
    hosts = [word for host in allowed for word in ("--allow", host)]
    command = [require_program("tlslab-load"), "--json", "--print-spec", *hosts, *line]
    done = subprocess.run(command, capture_output=True, timeout=_PRINT_S, check=False)
    return answer_of(done), output


def with_default(spec: dict[str, Any], workers: int) -> dict[str, Any]:
    """The specification with enough connections for the workers of all generators; says how many.

    The engine's own default is for the workers of one generator.
    """
    wanted, own, count = EACH * workers, int(spec["connections"]), spec["stop"].get("count")
    number = max(own, min(wanted, MOST, wanted if count is None else int(count)))
    why = "as for one generator"
    if number == wanted:
        why = f"{EACH} for each of {counted(workers, 'worker')}"
    elif number > own:
        why = "as many as --count" if number == count else f"{MOST:,} at most"
    say(f"connections: {number:,} (default: {why})")
    return {**spec, "connections": number}


def _into(output: Path, mode: Literal["ab", "wb"], record: bytes) -> None:
    """Raises CannotRunError. A record that cannot be stored is printed: it is not lost."""
    try:
        with output.open(mode) as file:
            file.write(record)
    except OSError as error:
        _write(record)
        raise CannotRunError(
            f"cannot write {output}: {error.strerror or error}", "name another file with --output"
        ) from None


def _measured(pool: SeveralHosts, spec: Mapping[str, Any], take: _Shown) -> tuple[RunRecord, int]:
    """The record and the exit code.

    If a generator was lost: the measurement until then, which is never valid. Raises EngineError.
    """
    try:
        record = pool.run(spec, take)
    except LostInRunError as error:
        if error.record is None:
            raise
        show_error(error.message, error.remedy)
        return error.record, EXIT_VERDICT
    codes = {verdict.code for verdict in record.verdicts}
    if "interrupted" in codes:
        return record, EXIT_INTERRUPTED
    return record, 0 if "valid" in codes else EXIT_VERDICT


@contextmanager
def _interrupted_once(pool: SeveralHosts) -> Iterator[None]:
    """Makes an interruption end the load with a record of the measurement.

    A second one ends everything.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        pool.interrupt()

    earlier = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)
