"""`tlslab load`: the engine as it is, with the lab's accounting of the machine beside it."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude, out, say, show_error
from tlslab.cli.engine_error import engine_error
from tlslab.cli.load_pool import pool_spec, run_pool
from tlslab.cli.load_run import Loaded, Shown, run_plainly, run_watched
from tlslab.cli.load_table import VALID, load_table
from tlslab.cli.watching import Watching, spelled_out, watched
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

# Options with which the engine only says something of itself.
_WORDS = (*_HELP, "-V", "--version")

# Options with which the user selects the engine's own output.
_FORMS = ("--json", "--format", *_WORDS)

# The lab's own options among the engine's, each with what its value looks like.
SERVER_METRICS = "--server-metrics"
METRICS = "--metrics"
LIVE = "--live"
GENERATORS = "--generators"
ON_LOST_HOST = "--on-lost-host"
_OWN = {
    SERVER_METRICS: "a URL, like http://HOST:9100/metrics",
    METRICS: "an address, like 127.0.0.1:9464",
    LIVE: "an address after an equals sign, like --live=127.0.0.1:8080, or none",
    GENERATORS: "a number of generators, or auto, or ray://HOST:PORT",
    ON_LOST_HOST: "fail or keep",
}

_OWN_HELP = f"""
Added by tlslab load:
      {SERVER_METRICS} <URL>
          Read the server's processor time from the node_exporter on its host: http://HOST:9100/metrics
      {METRICS} <HOST:PORT>
          Serve Prometheus metrics of the run there: 127.0.0.1:9464. Beyond loopback only if HOST is
          an address that others reach
      {LIVE}[=<HOST:PORT>]
          Serve a page that shows the run while it goes on, on a free port of loopback by default
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
            metavar="[--server-metrics URL] [--generators N] [--live] URL ...",
            help="As for tlslab-load: tlslab load -h has them. --server-metrics: a node_exporter "
            "on the server's host, for its processor time. --metrics: Prometheus metrics of the "
            "run. --live: a page that shows it. --generators, --on-lost-host: as for tlslab run.",
        ),
    ] = None,
) -> None:
    """Load a server with tlslab-load, and report what the whole machine did meanwhile."""
    given, own = own_options(arguments or ["--help"])
    mode, rest = mode_of(given)
    watching = Watching.of(own.get(METRICS), own.get(LIVE))
    if GENERATORS in own:
        raise typer.Exit(_load_together(mode, rest, own, watching))
    line = [require_program("tlslab-load"), *engine_arguments(given, read_allow_file())]
    is_load = mode == RUN and not has(given, (*_OTHER, *_WORDS))
    if not is_load or (has(given, _FORMS) and not watching.is_wanted):
        _refuse(own, (SERVER_METRICS,) if is_load else tuple(_OWN))
        raise typer.Exit(_plainly(line, mode == RUN and has(given, _HELP)))
    _refuse(own, (SERVER_METRICS,) if has(given, _FORMS) else ())
    raise typer.Exit(_load(line, given, own.get(SERVER_METRICS), watching))


def _refuse(own: Mapping[str, str], options: Sequence[str]) -> None:
    """Refuses options of the lab's own. Raises UsageError."""
    for name in options:
        if name in own:
            raise UsageError(f"{name} has no place in the engine's own output", "leave one out")


def _plainly(line: Sequence[str], is_help: bool) -> int:
    """The engine's own output as it is; the exit code."""
    loaded = run_plainly(line)
    _write(loaded.output + (_OWN_HELP.encode() if is_help and loaded.code == 0 else b""))
    return _passed_on(loaded, None)


def _load(line: Sequence[str], given: Sequence[str], server: str | None, watching: Watching) -> int:
    """A load that the lab watches; the exit code."""
    as_it_is = has(given, _FORMS)
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
    return _passed_on(loaded, record) if as_it_is else _ended(loaded, record)


def _write(output: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()


def _load_together(
    mode: str, given: Sequence[str], own: Mapping[str, str], watching: Watching
) -> int:
    """A load by several generators; the exit code."""
    if mode != RUN or has(given, (*_OTHER, *_WORDS)):
        raise UsageError(f"{GENERATORS} goes with a load, and with no other mode")
    wanted = check_generators(own[GENERATORS])
    policy = check_policy(own.get(ON_LOST_HOST, "fail"), wanted)
    assert wanted is not None
    spec, output = pool_spec(given, read_allow_file())
    shown = Shown(raw=has(given, ("--events",)), lines=True)
    with watched("load", watching) as state:
        side = Side.of(own.get(SERVER_METRICS))
        loaded = run_pool(spec, (wanted, policy), side, shown, state)
        record = _record(loaded.output)
        state.finish(_reason(loaded.code, record))
    if output is not None:
        output.write_bytes(loaded.output + b"\n")
    if has(given, ("--json",)):
        _write(loaded.output + b"\n")
        return loaded.code
    if record is not None:
        out.print(load_table(record, loaded.machine, loaded.server, loaded.side))
    return _ended(loaded, record)


def mode_of(given: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The engine's mode, and the arguments without the word for it."""
    return (given[0], given[1:]) if given and given[0] in MODES else (RUN, given)


def _passed_on(loaded: Loaded, record: RunRecord | None) -> int:
    """The exit code behind output of the engine's own, whose reason may be the last line."""
    return _ended(loaded, record) if loaded.code or loaded.conclusion else 0


def _ended(loaded: Loaded, record: RunRecord | None) -> int:
    """Shows the engine's error, if there is one, as the lab shows its own; the exit code.

    The last line is the engine's where it had one.
    """
    if loaded.error:
        show_error(*error_of(loaded))
    if loaded.conclusion:
        say(loaded.conclusion)
        return loaded.code
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
    words = iter(spelled_out(given))
    for word in words:
        name, equals, value = word.partition("=")
        if name not in _OWN:
            rest.append(word)
            continue
        found[name] = value if equals else next(words, "")
        if not found[name] or found[name].startswith("-"):
            raise UsageError(f"{name} needs a value", f"give {_OWN[name]}")
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
