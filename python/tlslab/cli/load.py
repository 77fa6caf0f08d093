"""`tlslab load`: the engine as it is, with the lab's accounting of the machine beside it."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, NoReturn

import typer

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude, out, show_error
from tlslab.cli.engine_error import engine_error
from tlslab.cli.load_pool import pool_spec, run_pool
from tlslab.cli.load_run import Loaded, run_plainly, run_watched
from tlslab.cli.load_table import VALID, load_table
from tlslab.lab.generators.choose import check_generators, check_policy
from tlslab.lab.programs import require_program
from tlslab.lab.server_side.side import Side
from tlslab.model.errors import StoreError, UsageError
from tlslab.model.record import RunRecord
from tlslab.model.wording import counted
from tlslab.store import from_json

# The engine's modes, the first word of its command line; `run` is the one without a word.
RUN = "run"
MODES = (RUN, "probe", "merge", "hold", "in-memory", "primitives", "schema")

# Modes that connect to no server of others, and take no allowed hosts.
_LONE_MODES = ("merge", "in-memory", "primitives", "schema")

# The older flags for modes without a record of a run; their output is passed on unchanged.
_OTHER = ("--preflight", "--probe", "--hold", "--in-memory", "--primitives", "--print-schema")

# Flags that take no allowed hosts either.
_ALONE = ("--in-memory", "--primitives", "--print-schema", "-h", "--help", "-V", "--version")

_HELP = ("-h", "--help")

# Options with which the user selects the engine's own output.
_FORMS = ("--json", "--format", *_HELP, "-V", "--version")

# The lab's own options among the engine's, with what each takes.
METRICS = "--server-metrics"
GENERATORS = "--generators"
ON_LOST_HOST = "--on-lost-host"
_OWN = {
    METRICS: ("a URL", "like http://HOST:9100/metrics"),
    GENERATORS: ("a number of generators", "or auto, or ray://HOST:PORT"),
    ON_LOST_HOST: ("what is done about it", "fail or keep"),
}

_OWN_HELP = f"""
Added by tlslab load:
      {METRICS} <URL>
          Read the server's processor time from the node_exporter on its host: http://HOST:9100/metrics

      {GENERATORS} <N|auto|ray://HOST:PORT>
          Load from several hosts, whose records are merged: N processes of this machine, or N hosts
          of the Ray cluster of RAY_ADDRESS; or all hosts of a cluster

      {ON_LOST_HOST} <fail|keep>
          A generator that is lost: the load ends, or goes on without it and is not valid
          [default: fail]
"""


def command(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[--server-metrics URL] [--generators N] URL ...",
            help="As for tlslab-load: tlslab load -h has them. --server-metrics: a node_exporter "
            "on the server's host, for its processor time. --generators, --on-lost-host: as for "
            "tlslab run.",
        ),
    ] = None,
) -> None:
    """Load a server with tlslab-load, and report what the whole machine did meanwhile."""
    given, own = own_options(arguments or ["--help"])
    metrics = own.get(METRICS)
    mode, rest = mode_of(given)
    if GENERATORS in own:
        _load_together(mode, rest, own)
    line = [require_program("tlslab-load"), *engine_arguments(given, read_allow_file())]
    if mode != RUN or has(given, _OTHER + _FORMS):
        if metrics is not None:
            raise UsageError(f"{METRICS} has no place in the engine's own output", "leave one out")
        loaded = run_plainly(line)
        sys.stdout.flush()
        sys.stdout.buffer.write(loaded.output)
        if mode == RUN and has(given, _HELP) and loaded.code == 0:
            sys.stdout.buffer.write(_OWN_HELP.encode())
        sys.stdout.buffer.flush()
        raise typer.Exit(_ended(loaded, None) if loaded.code else 0)
    loaded = run_watched(line, Side.of(metrics), has(given, ("--events",)))
    record = _record(loaded.output)
    if record is not None:
        out.print(load_table(record, loaded.machine, loaded.server, loaded.side))
    raise typer.Exit(_ended(loaded, record))


def _load_together(mode: str, given: Sequence[str], own: Mapping[str, str]) -> NoReturn:
    """A load by several generators."""
    if mode != RUN or has(given, (*_OTHER, *_HELP, "-V", "--version")):
        raise UsageError(f"{GENERATORS} goes with a load, and with no other mode")
    wanted = check_generators(own[GENERATORS])
    policy = check_policy(own.get(ON_LOST_HOST, "fail"))
    spec, output = pool_spec(given, read_allow_file())
    assert wanted is not None
    raw = has(given, ("--events",))
    loaded = run_pool(spec, wanted, policy, Side.of(own.get(METRICS)), raw)
    if output is not None:
        output.write_bytes(loaded.output + b"\n")
    record = _record(loaded.output)
    if has(given, ("--json",)):
        typer.echo(loaded.output)
        raise typer.Exit(loaded.code)
    if record is not None:
        out.print(load_table(record, loaded.machine, loaded.server, loaded.side))
    raise typer.Exit(_ended(loaded, record))


def mode_of(given: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The engine's mode, and the arguments without the word for it."""
    return (given[0], given[1:]) if given and given[0] in MODES else (RUN, given)


def _ended(loaded: Loaded, record: RunRecord | None) -> int:
    """Shows the engine's error, if there is one, as the lab shows its own; the exit code."""
    if loaded.error:
        show_error(*error_of(loaded))
    return conclude(_reason(loaded.code, record), loaded.code)


def error_of(loaded: Loaded) -> tuple[str, str]:
    """Message and remedy: of the JSON object, where one was asked for, else of the line."""
    try:
        data = json.loads(loaded.output)
        message, remedy = str(data["message"]), str(data["remedy"])
    except (ValueError, KeyError, TypeError):
        message, remedy = engine_error(loaded.error)
    return message, remedy.replace("see --help", "see `tlslab load --help`")


def own_options(given: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The engine's arguments, and the values of the lab's own options. Raises UsageError."""
    rest: list[str] = []
    found: dict[str, str] = {}
    words = iter(given)
    for word in words:
        name, equals, value = word.partition("=")
        if name not in _OWN:
            rest.append(word)
            continue
        found[name] = value if equals else next(words, "")
        if not found[name] or found[name].startswith("-"):
            what, example = _OWN[name]
            raise UsageError(f"{name} needs {what}", example)
    if ON_LOST_HOST in found and GENERATORS not in found:
        raise UsageError(f"{ON_LOST_HOST} goes with {GENERATORS}")
    return rest, found


def engine_arguments(given: Sequence[str], allowed: Sequence[str]) -> list[str]:
    """The engine's command line: what was given, the allowed hosts, the record asked for."""
    mode, rest = mode_of(given)
    alone = mode in _LONE_MODES or has(given, _ALONE)
    hosts = [] if alone else [word for host in allowed for word in ("--allow", host)]
    if mode != RUN:
        return [mode, *hosts, *rest]
    own = [] if has(rest, _OTHER + _FORMS) else ["--json"]
    live = [] if has(rest, ("--events", *_OTHER, *_FORMS)) else ["--events"]
    return [*own, *live, *hosts, *rest]


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
