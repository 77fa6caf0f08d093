"""`tlslab load`: the engine as it is, with the lab's accounting of the machine beside it."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude, out
from tlslab.cli.load_table import VALID, load_table
from tlslab.lab.accounting import Meter
from tlslab.lab.programs import require_program
from tlslab.model.errors import StoreError
from tlslab.model.record import MachineUsage, RunRecord
from tlslab.model.wording import counted
from tlslab.store import from_json
from tlslab.targets.guard import bound

# Modes without a record of a run; their output is passed on unchanged.
_OTHER = ("--preflight", "--probe", "--hold", "--in-memory", "--primitives", "--print-schema")

# Modes that connect to no server of others, and take no allowed hosts.
_ALONE = ("--in-memory", "--primitives", "--print-schema", "-h", "--help", "-V", "--version")

# Options with which the user selects the engine's own output.
_FORMS = ("--json", "--format", "-h", "--help", "-V", "--version")

_LIVE = ("--progress", "--events")


def command(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="URL ...", help="As for tlslab-load: tlslab load -h has them."),
    ] = None,
) -> None:
    """Load a server with tlslab-load, and report what the whole machine did meanwhile."""
    given = arguments or ["--help"]
    program = require_program("tlslab-load")
    as_is = has(given, _OTHER + _FORMS)
    code, output, machine = _run([program, *engine_arguments(given, read_allow_file())])
    record = None if as_is else _record(output)
    if as_is:
        sys.stdout.flush()
        sys.stdout.buffer.write(output)
        sys.stdout.buffer.flush()
        raise typer.Exit(code)
    if record is not None:
        out.print(load_table(record, machine))
    raise typer.Exit(conclude(_reason(code, record), code))


def engine_arguments(given: Sequence[str], allowed: Sequence[str]) -> list[str]:
    """The engine's command line: what was given, the allowed hosts, the record asked for."""
    hosts = [] if has(given, _ALONE) else [word for host in allowed for word in ("--allow", host)]
    own = [] if has(given, _OTHER + _FORMS) else ["--json"]
    live = [] if has(given, _LIVE + _OTHER + _FORMS) else ["--progress"]
    return [*own, *live, *hosts, *given]


def has(arguments: Sequence[str], options: Sequence[str]) -> bool:
    """Whether one of the options is among the arguments."""
    return any(word in options or word.partition("=")[0] in options for word in arguments)


def _run(command_line: list[str]) -> tuple[int, bytes, MachineUsage]:
    """Runs the engine; its exit code, its standard output, and the machine's use meanwhile.

    The engine ends with the lab, even when the lab is killed. The lab passes an interruption on, so
    that the engine can still print the record so far.
    """
    meter = Meter([])
    meter.start()
    child = subprocess.Popen(
        [*bound("KILL"), *command_line],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, _ = child.communicate()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate()
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        meter.end()
    return child.returncode, output, meter.machine()


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
    """The record; None when there is none, of which the engine itself has said why."""
    try:
        return from_json(json.loads(output), RunRecord)
    except (ValueError, StoreError):
        return None
