"""`tlslab load --generators`: one load by several generators, with the same table."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tlslab.cli.console import say, show_error
from tlslab.cli.ending import EXIT_INTERRUPTED, EXIT_VERDICT
from tlslab.cli.load_run import Follower, Loaded, Shown, machine_of, progress_line
from tlslab.cli.shared_words import lost_words
from tlslab.domain.errors import UsageError
from tlslab.domain.record import RunRecord
from tlslab.domain.wording import counted
from tlslab.lab.accounting import Meter
from tlslab.lab.engine_output import Event, EventLines, answer
from tlslab.lab.generators.choose import several_generators
from tlslab.lab.generators.joint_run import LostPolicy
from tlslab.lab.generators.pool import LostInRunError
from tlslab.lab.generators.several import SeveralHosts
from tlslab.lab.programs import require_program
from tlslab.lab.server_side.side import Side, SideMeter
from tlslab.lab.store import to_json
from tlslab.report.live.state import State

# Options of a single engine on this machine, not available for several generators.
_OF_ONE = ("--trace", "--keylog", "--client-key", "--client-cert", "--source", "--barrier")

# Options for the engine's output, which the lab replaces by its own here.
_SHOWN = ("--json", "--events", "--progress")

# The option for the record's file.
_SHORT, _LONG = "-o", "--output"

# The time limit for the engine to print a specification, in seconds.
_PRINT_S = 30.0


def pool_spec(given: Sequence[str], allowed: Sequence[str]) -> tuple[dict[str, Any], Path | None]:
    """The specification for the engine's options, and the file for the record.

    Raises UsageError for options that several generators cannot have, EngineError for wrong ones.
    """
    for option in (word.partition("=")[0] for word in given):
        if option in (*_OF_ONE, "--format"):
            raise UsageError(
                f"{option} is for one generator", f"leave {option} out, or --generators"
            )
    line, output = _without_output([word for word in given if word not in _SHOWN])
    hosts = [word for host in allowed for word in ("--allow", host)]
    command = [require_program("tlslab-load"), "--json", "--print-spec", *hosts, *line]
    done = subprocess.run(command, capture_output=True, timeout=_PRINT_S, check=False)
    lines = EventLines(lambda event: None)
    lines.feed(done.stderr + b"\n")
    return answer(done.stdout, done.returncode, lines.words), output


def _without_output(given: Sequence[str]) -> tuple[list[str], Path | None]:
    """The options without the record's output file, and that file. Raises UsageError."""
    rest: list[str] = []
    output = None
    words = iter(given)
    for word in words:
        if word == "--":
            return [*rest, word, *words], output
        if word in (_SHORT, _LONG):
            name = next(words, "")
        elif (attached := _attached(word)) is not None:
            name = attached
        else:
            rest.append(word)
            continue
        if not name:
            raise UsageError(f"{word} needs a value", "give a file for the record")
        output = Path(name)
    return rest, output


def _attached(word: str) -> str | None:
    """The file in the option itself, `-oFILE` or `--output=FILE`; None for other words."""
    name, _, value = word.partition("=")
    if name == _LONG:
        return value
    return word.removeprefix(_SHORT).removeprefix("=") if word.startswith(_SHORT) else None


def run_pool(
    spec: Mapping[str, Any],
    wanted: tuple[str, LostPolicy],
    side: Side,
    shown: Shown,
    state: State,
) -> Loaded:
    """One run of the generators. Raises UsageError, CannotRunError, and the generators'
    EngineError.

    `wanted`: the generators, and the policy for lost ones. `state` follows the run.
    """
    watcher = _Watcher(SideMeter(side), shown, state)
    meter = Meter([])
    with several_generators(*wanted) as pool:
        meter.start()
        try:
            with _interrupted_once(pool):
                record, code = _measured(pool, spec, watcher)
                _say_fewer(len(record.hosts), pool.size)
        finally:
            meter.end()
            watcher.close()
    output = json.dumps(to_json(record)).encode()
    return watcher.with_side(Loaded(code, output, machine_of(meter)))


def _measured(
    pool: SeveralHosts, spec: Mapping[str, Any], watcher: "_Watcher"
) -> tuple[RunRecord, int]:
    """The record and the exit code.

    If a generator was lost: the measurement until then, which is never valid. Raises EngineError.
    """
    try:
        record = pool.run(spec, watcher)
    except LostInRunError as error:
        if error.record is None:
            raise
        show_error(error.message, error.remedy)
        return error.record, EXIT_VERDICT
    return record, exit_code(record)


def _say_fewer(made: int, there: int) -> None:
    """Reports that not all generators made the load: each needs at least one connection."""
    if made < there:
        say(f"note: the load is enough for {made} of {counted(there, 'generator')}")


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


def exit_code(record: RunRecord) -> int:
    """The engine's exit code for such a record."""
    codes = {verdict.code for verdict in record.verdicts}
    if "interrupted" in codes:
        return EXIT_INTERRUPTED
    return 0 if "valid" in codes else 1


class _Watcher(Follower):
    """Takes the events of the run: follows it, shows its progress."""

    def __init__(self, meter: SideMeter, shown: Shown, state: State) -> None:
        super().__init__(meter, state)
        self._shown = shown

    def __call__(self, event: Event) -> None:
        """Takes the next event."""
        self.follow(event)
        if self._shown.raw:
            sys.stderr.write(json.dumps(event) + "\n")
            sys.stderr.flush()
        elif event["event"] == "progress" and self._shown.lines:
            say(progress_line(event))
        elif event["event"] == "lost":
            say(lost_words(event["host"], event["reason"]))
