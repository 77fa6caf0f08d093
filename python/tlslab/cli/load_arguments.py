"""The command line of `tlslab load`: the lab's own options among the engine's."""

from collections.abc import Sequence
from pathlib import Path

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

OWN_HELP = f"""
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

# The engine's option for conditions on the figures of a run.
FAIL_IF = "--fail-if"

# The option for the record's file.
_SHORT, _LONG = "-o", "--output"


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
    """The engine's command line: the given arguments, and the allowed hosts."""
    mode, rest = mode_of(given)
    alone = mode in _LONE_MODES or has(given, _ALONE)
    hosts = [] if alone else [word for host in allowed for word in ("--allow", host)]
    return [*([] if mode == RUN else [mode]), *hosts, *rest]


def has(arguments: Sequence[str], options: Sequence[str]) -> bool:
    """Whether one of the options is among the arguments."""
    return any(word in options or word.partition("=")[0] in options for word in arguments)


def gives_connections(given: Sequence[str]) -> bool:
    """Whether the arguments, or a specification of theirs, say how many connections there are."""
    options = given[: given.index("--")] if "--" in given else given
    short = any(word.startswith("-c") for word in options)
    return short or has(options, ("--connections", "--spec"))


def conditions_of(given: Sequence[str]) -> list[str]:
    """The conditions among the arguments, each as one word `--fail-if=CONDITION`."""
    words = iter(given)
    found = [next(words, "") if word == FAIL_IF else word.partition("=")[2]
             for word in words if word.partition("=")[0] == FAIL_IF]  # fmt: skip
    return [f"{FAIL_IF}={condition}" for condition in found]


def without_output(given: Sequence[str]) -> tuple[list[str], Path | None]:
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
