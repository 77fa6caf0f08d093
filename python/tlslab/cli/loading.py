"""The work of `tlslab load`: the engine run and watched, its record shown, its end explained."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude, out, say, show_error
from tlslab.cli.engine_error import engine_error
from tlslab.cli.load_arguments import (
    FORMS,
    GENERATORS,
    HELP,
    LIVE,
    METRICS,
    ON_LOST_HOST,
    OTHER,
    OWN,
    RUN,
    SERVER_METRICS,
    WORDS,
    engine_arguments,
    has,
    mode_of,
    own_options,
)
from tlslab.cli.load_pool import pool_spec, run_pool
from tlslab.cli.load_run import Loaded, Shown, run_plainly, run_watched
from tlslab.cli.load_table import VALID, load_table
from tlslab.cli.remedies import in_lab
from tlslab.cli.watching import Watching, watched
from tlslab.domain.errors import CannotRunError, StoreError, UsageError
from tlslab.domain.record import RunRecord
from tlslab.domain.wording import counted
from tlslab.lab.generators.choose import check_generators, check_policy
from tlslab.lab.programs import require_program
from tlslab.lab.server_side.side import Side
from tlslab.lab.store import from_json

# The exit code of a command that could not be carried out.
_NOT_DONE = 3

_OWN_HELP = f"""
Added by tlslab load:
      {SERVER_METRICS} <URL>
          URL of a node_exporter on the server's host, for the server's processor time:
          http://HOST:9100/metrics
      {METRICS} <HOST:PORT>
          Serve Prometheus metrics of the run at this address: 127.0.0.1:9464. Other hosts need an
          address of this machine that they can reach
      {LIVE}[=<HOST:PORT>]
          Serve a page that shows the run in progress; on a free port of loopback by default
      {GENERATORS} <N|auto|ray://HOST:PORT>
          Load from several generators and merge their records: N processes of this machine, or N
          hosts of the Ray cluster of RAY_ADDRESS; auto or ray://HOST:PORT: all hosts of a cluster
      {ON_LOST_HOST} <fail|keep>
          If a generator is lost: end the load, or finish it with the others as not valid
          [default: fail]
"""


def load(arguments: Sequence[str]) -> int:
    """Runs the engine with these arguments; returns the exit code.

    Raises UsageError, CannotRunError.
    """
    given, own = own_options(arguments)
    mode, rest = mode_of(given)
    watching = Watching.of(own.get(METRICS), own.get(LIVE))
    if GENERATORS in own:
        return _load_together(mode, rest, own, watching)
    line = [require_program("tlslab-load"), *engine_arguments(given, read_allow_file())]
    is_load = mode == RUN and not has(given, (*OTHER, *WORDS))
    if not is_load or (has(given, FORMS) and not watching.is_wanted):
        _refuse(own, (SERVER_METRICS,) if is_load else tuple(OWN))
        return _plainly(line, mode == RUN and has(given, HELP))
    _refuse(own, (SERVER_METRICS,) if has(given, FORMS) else ())
    return _load(line, given, own.get(SERVER_METRICS), watching)


def _refuse(own: Mapping[str, str], options: Sequence[str]) -> None:
    """Refuses options that belong to the lab. Raises UsageError."""
    for name in options:
        if name in own:
            raise UsageError(
                f"{name} has no place in the engine's own output",
                f"leave {name} out, or the option or mode that selects that output",
            )


def _plainly(line: Sequence[str], is_help: bool) -> int:
    """Passes the engine's own output through; returns the exit code."""
    loaded = run_plainly(line)
    _write(loaded.output + (_OWN_HELP.encode() if is_help and loaded.code == 0 else b""))
    return _passed_on(loaded, None)


def _load(line: Sequence[str], given: Sequence[str], server: str | None, watching: Watching) -> int:
    """Runs a load that the lab watches; returns the exit code."""
    as_it_is = has(given, FORMS)
    shown = Shown(raw=has(given, ("--events",)), lines=not as_it_is or has(given, ("--progress",)))
    events = [] if has(line, ("--events",)) else ["--events"]
    with watched("load", watching) as state:
        loaded = run_watched([line[0], *events, *line[1:]], Side.of(server), shown, state)
        record = _record(loaded.output)
        state.finish(_reason(loaded.code, record))
        if as_it_is:
            _write(loaded.output)
        elif record is not None:
            out.print(load_table(record, loaded.machine, loaded.server, loaded.side))
            if loaded.code == _NOT_DONE:
                # A file of the load could not be written: its record is not lost.
                _write(_lines(loaded.output)[0] + b"\n")
    return _passed_on(loaded, record) if as_it_is else _ended(loaded, record)


def _write(output: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()


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


def _load_together(
    mode: str, given: Sequence[str], own: Mapping[str, str], watching: Watching
) -> int:
    """Runs a load by several generators; returns the exit code."""
    if mode != RUN or has(given, (*OTHER, *WORDS)):
        raise UsageError(
            f"{GENERATORS} is for a load, not for the engine's other modes",
            f"leave {GENERATORS} out, or the other mode",
        )
    wanted = check_generators(own[GENERATORS])
    policy = check_policy(own.get(ON_LOST_HOST, "fail"), wanted)
    assert wanted is not None
    spec, output = pool_spec(given, read_allow_file())
    if output is not None:
        # An earlier record stays until there is a new one.
        _into(output, "ab", b"")
    shown = Shown(raw=has(given, ("--events",)), lines=True)
    with watched("load", watching) as state:
        side = Side.of(own.get(SERVER_METRICS))
        loaded = run_pool(spec, (wanted, policy), side, shown, state)
        record = _record(loaded.output)
        state.finish(_reason(loaded.code, record))
    if output is not None:
        _into(output, "wb", loaded.output + b"\n")
    if has(given, ("--json",)):
        _write(loaded.output + b"\n")
        return loaded.code
    if record is not None:
        out.print(load_table(record, loaded.machine, loaded.server, loaded.side))
    return _ended(loaded, record)


def _passed_on(loaded: Loaded, record: RunRecord | None) -> int:
    """The exit code after the engine's own output, with its reason if there is one."""
    return _ended(loaded, record) if loaded.code or loaded.conclusion else 0


def _ended(loaded: Loaded, record: RunRecord | None) -> int:
    """Shows the engine's error, if there is one, in the lab's form; returns the exit code.

    The last line is the engine's if it printed one.
    """
    if loaded.error:
        show_error(*error_of(loaded))
    if loaded.conclusion:
        say(loaded.conclusion)
        return loaded.code
    return conclude(_reason(loaded.code, record), loaded.code)


def error_of(loaded: Loaded) -> tuple[str, str]:
    """Message and remedy: from the JSON object if JSON was requested, else from the line."""
    try:
        # A record may precede it.
        data = json.loads(_lines(loaded.output)[-1])
        message, remedy = str(data["message"]), str(data["remedy"])
    except (ValueError, LookupError, TypeError):
        message, remedy = engine_error(loaded.error)
    return message, in_lab(remedy, "load")


def _reason(code: int, record: RunRecord | None) -> str:
    """The reason of the engine's exit code."""
    match code:
        case 0:
            remarks = [v for v in record.verdicts if v.code != VALID] if record else []
            return f"valid, with {counted(len(remarks), 'remark')} above" if remarks else "valid"
        case 1:
            return "a verdict is against the result, see above"
        case 2:
            return "wrong usage"
        case 130:
            return "interrupted"
        case _:
            return "it could not be done"


def _record(output: bytes) -> RunRecord | None:
    """The record; None without one, in which case the engine has reported the reason."""
    try:
        # An error may follow it, of a file that could not be written.
        return from_json(json.loads(_lines(output)[0]), RunRecord)
    except (ValueError, IndexError, StoreError):
        return None


def _lines(output: bytes) -> list[bytes]:
    """The JSON objects of the engine's standard output, a line each."""
    return [line for line in output.split(b"\n") if line.strip()]
