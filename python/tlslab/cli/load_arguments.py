"""The command line of `tlslab load`: the lab's own options among the engine's."""

from collections.abc import Sequence

from tlslab.cli.watching import spelled_out
from tlslab.domain.errors import UsageError

# The engine's modes, the first word of its command line; `run` may be omitted.
RUN = "run"
MODES = (RUN, "probe", "merge", "hold", "in-memory", "primitives", "schema")

# Modes that connect to no foreign server and take no allowed hosts.
_LONE_MODES = ("merge", "in-memory", "primitives", "schema")

# Flags that connect to no server and take no allowed hosts.
_LONE = ("--in-memory", "--primitives", "--print-schema", "--completion", "--man")

# Flags for output without a record of a run, some of them older forms of modes; their output is
# passed on unchanged.
OTHER = ("--preflight", "--probe", "--hold", "--print-spec", *_LONE)

HELP = ("-h", "--help")

# Options for information on the engine itself.
WORDS = (*HELP, "-V", "--version")

# Options with which the user selects the engine's own output.
FORMS = ("--json", "--format", *WORDS)

_ALONE = (*_LONE, *WORDS)

# The lab's own options among the engine's, each with the form of its value.
SERVER_METRICS = "--server-metrics"
METRICS = "--metrics"
LIVE = "--live"
GENERATORS = "--generators"
ON_LOST_HOST = "--on-lost-host"
OWN = {
    SERVER_METRICS: "a URL, like http://HOST:9100/metrics",
    METRICS: "an address, like 127.0.0.1:9464",
    LIVE: "an address after an equals sign, like --live=127.0.0.1:8080, or none",
    GENERATORS: "a number of generators, or auto, or ray://HOST:PORT",
    ON_LOST_HOST: "fail or keep",
}


def mode_of(given: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The engine's mode, and the arguments without the mode's word."""
    return (given[0], given[1:]) if given and given[0] in MODES else (RUN, given)


def own_options(given: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The engine's arguments, and the values of the lab's own options. Raises UsageError."""
    rest: list[str] = []
    found: dict[str, str] = {}
    words = iter(spelled_out(given))
    for word in words:
        name, equals, value = word.partition("=")
        if name not in OWN:
            rest.append(word)
            continue
        found[name] = value if equals else next(words, "")
        if not found[name] or found[name].startswith("-"):
            raise UsageError(f"{name} needs a value", f"give {OWN[name]}")
    if ON_LOST_HOST in found and GENERATORS not in found:
        raise UsageError(
            f"{ON_LOST_HOST} needs {GENERATORS}", f"add {GENERATORS} N, or leave {ON_LOST_HOST} out"
        )
    return rest, found


def engine_arguments(given: Sequence[str], allowed: Sequence[str]) -> list[str]:
    """The engine's command line: the given arguments, the allowed hosts, and --json."""
    mode, rest = mode_of(given)
    alone = mode in _LONE_MODES or has(given, _ALONE)
    hosts = [] if alone else [word for host in allowed for word in ("--allow", host)]
    if mode != RUN:
        return [mode, *hosts, *rest]
    own = [] if has(rest, OTHER + FORMS) else ["--json"]
    live = [] if has(rest, ("--events", *OTHER, *FORMS)) else ["--events"]
    return [*own, *live, *hosts, *rest]


def has(arguments: Sequence[str], options: Sequence[str]) -> bool:
    """Whether one of the options is among the arguments."""
    return any(word in options or word.partition("=")[0] in options for word in arguments)
