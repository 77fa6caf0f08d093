"""`tlslab load`: the engine as it is, with the lab's accounting of the machine beside it."""

import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude, out
from tlslab.cli.load_run import run_plainly, run_watched
from tlslab.cli.load_table import VALID, load_table
from tlslab.lab.programs import require_program
from tlslab.lab.server_side.side import Side
from tlslab.model.errors import StoreError, UsageError
from tlslab.model.record import RunRecord
from tlslab.model.wording import counted
from tlslab.store import from_json

# Modes without a record of a run; their output is passed on unchanged.
_OTHER = ("--preflight", "--probe", "--hold", "--in-memory", "--primitives", "--print-schema")

# Modes that connect to no server of others, and take no allowed hosts.
_ALONE = ("--in-memory", "--primitives", "--print-schema", "-h", "--help", "-V", "--version")

# Options with which the user selects the engine's own output.
_FORMS = ("--json", "--format", "-h", "--help", "-V", "--version")

# The lab's own option among the engine's.
METRICS = "--server-metrics"


def command(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[--server-metrics URL] URL ...",
            help="As for tlslab-load: tlslab load -h has them. --server-metrics: a node_exporter "
            "on the server's host, for its processor time.",
        ),
    ] = None,
) -> None:
    """Load a server with tlslab-load, and report what the whole machine did meanwhile."""
    given, metrics = own_option(arguments or ["--help"])
    line = [require_program("tlslab-load"), *engine_arguments(given, read_allow_file())]
    if has(given, _OTHER + _FORMS):
        if metrics is not None:
            raise UsageError(f"{METRICS} has no place in the engine's own output", "leave one out")
        loaded = run_plainly(line)
        sys.stdout.flush()
        sys.stdout.buffer.write(loaded.output)
        sys.stdout.buffer.flush()
        raise typer.Exit(loaded.code)
    loaded = run_watched(line, Side.of(metrics), has(given, ("--events",)))
    record = _record(loaded.output)
    if record is not None:
        out.print(load_table(record, loaded.machine, loaded.server, loaded.side))
    raise typer.Exit(conclude(_reason(loaded.code, record), loaded.code))


def own_option(given: Sequence[str]) -> tuple[list[str], str | None]:
    """The engine's arguments, and the value of the lab's own option. Raises UsageError."""
    rest: list[str] = []
    found = None
    words = iter(given)
    for word in words:
        name, equals, value = word.partition("=")
        if name != METRICS:
            rest.append(word)
            continue
        found = value if equals else next(words, "")
        if not found or found.startswith("-"):
            raise UsageError(f"{METRICS} needs a URL", "like http://HOST:9100/metrics")
    return rest, found


def engine_arguments(given: Sequence[str], allowed: Sequence[str]) -> list[str]:
    """The engine's command line: what was given, the allowed hosts, the record asked for."""
    hosts = [] if has(given, _ALONE) else [word for host in allowed for word in ("--allow", host)]
    own = [] if has(given, _OTHER + _FORMS) else ["--json"]
    live = [] if has(given, ("--events", *_OTHER, *_FORMS)) else ["--events"]
    return [*own, *live, *hosts, *given]


def has(arguments: Sequence[str], options: Sequence[str]) -> bool:
    """Whether one of the options is among the arguments."""
    return any(word in options or word.partition("=")[0] in options for word in arguments)


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
