"""The circumstances of a run as names and values, and the command that repeats it."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from tlslab.domain.command_line import ONE_RUN, without_options
from tlslab.domain.factors import FACTORS
from tlslab.domain.finding import Summary
from tlslab.domain.run import BOOT, MEMORY, Environment
from tlslab.domain.wording import cell_label, counted
from tlslab.words.places import host_words
from tlslab.words.selftest import selftest_words


def redo_command(summary: Summary) -> str:
    """The command that repeats the run in a folder of its own.

    It is the typed command with the drawn seed, without the named folder.
    """
    return shlex.join(redo_words(summary))


def redo_words(summary: Summary) -> list[str]:
    """The words of that command."""
    command = without_options(summary.environment.command, ONE_RUN)
    seeded = any(part == "--seed" or part.startswith("--seed=") for part in command)
    if command[1:2] in (["run"], ["prove"]) and not seeded:
        command += ["--seed", str(summary.experiment.seed)]
    return command


def resume_command(folder: Path) -> str:
    """The command that runs the missing trials of a run folder."""
    return shlex.join(["tlslab", "run", "--resume", str(folder)])


def facts(summary: Summary) -> tuple[tuple[str, str], ...]:
    """The circumstances of the run as names and values."""
    environment = summary.environment
    pairs = [
        *_servers(environment),
        *summary.server_side.items(),
        ("Under load before its trials", _warm_ups(environment)),
        *_generators(summary),
        *load_facts(summary),
        ("Blocks", str(summary.experiment.blocks)),
        ("Seed", str(summary.experiment.seed)),
        ("Begun", environment.created),
        ("Sittings", _sittings(environment)),
        ("tlslab", environment.tlslab),
        ("Self-test", selftest_words(environment.selftest) if environment.selftest else ""),
    ]
    pairs += [_of_machine(name, fact) for name, fact in environment.machine.items() if name != BOOT]
    pairs += [(f"Version of {name}", text) for name, text in environment.versions.items()]
    return tuple(pair for pair in pairs if pair[1])


def load_facts(summary: Summary) -> tuple[tuple[str, str], ...]:
    """The load of each connection, as names and values; levels where cells differ in it."""
    work, levels = summary.experiment.workload, summary.experiment.factors
    kept = work.get("keep_alive") or {}
    pairs = [
        ("Document", _by_cell(levels, "document_bytes", work.get("document_bytes"), "bytes")),
        ("Connections at once", _by_cell(levels, "connections", work.get("connections"))),
        (
            "Requests on each connection",
            _by_cell(levels, "requests", work.get("requests_per_connection")),
        ),
        ("HTTP", _by_cell(levels, "http", work.get("http"))),
        ("Streams", _streams(levels.get("http", (work.get("http"),)), work.get("streams"))),
        ("Resumption", _resumption(summary)),
        ("Connections kept open", _by_cell({}, "", kept.get("connections"))),
    ]
    if kept:
        spoken = (kept.get("http"),) if kept.get("http") else levels.get("http", ("1.1",))
        pairs.append(("Streams on those", _streams(spoken, kept.get("streams"))))
    return tuple(pair for pair in pairs if pair[1])


def load_words(summary: Summary) -> str:
    """The load in one sentence, for the head of a report; empty for runs without connections."""
    known = dict(load_facts(summary))
    if "Requests on each connection" not in known:
        return ""
    of = {
        "Requests on each connection": "requests on each connection: {}",
        "HTTP": "HTTP {}",
        "Streams": "{}",
        "Resumption": "resumption: {}",
    }
    return "Load: " + "; ".join(of[name].format(known[name]) for name in of if name in known) + "."


def _by_cell(
    levels: Mapping[str, Sequence[str]], factor: str, otherwise: object, unit: str = ""
) -> str:
    """The levels of a factor of the load, or the value that all cells have."""
    given = levels.get(factor) or (() if otherwise in (None, "", 0) else (f"{otherwise}",))
    figures = [f"{int(each):,}" if each.isdecimal() else each for each in given]
    text = ", ".join(figures) + (f" {unit}" if unit and figures else "")
    return f"{text} (by cell)" if len(figures) > 1 else text


def _streams(spoken: Sequence[object], streams: object) -> str:
    """The requests in flight on a connection of HTTP/2; empty for HTTP/1.1."""
    return f"{streams} at once (HTTP/2)" if "2" in spoken and streams else ""


def _resumption(summary: Summary) -> str:
    """Which connections resume an earlier session, and how."""
    work, levels = summary.experiment.workload, summary.experiment.factors
    if summary.proof is not None:
        return "none by new clients; returning ones resume where the server lets them"
    if "resume" not in work and "resume" not in levels and "resumed" not in levels:
        return ""
    way = work.get("resume", "none")
    ways = levels.get("resume") or (way,)
    shares = levels.get("resumed") or (f"{100 * work.get('resume_ratio', 1.0):g}%",)
    if shares == ("0%",) or (ways == ("none",) and "resumed" not in levels):
        return "none"
    by = f", by {', '.join(ways)}" if ways != ("none",) else ""
    text = f"{', '.join(shares).replace('%', ' %')} of connections{by}"
    return f"{text} (by cell)" if len(ways) > 1 or len(shares) > 1 else text


# Levels of deployments that other facts state.
_SAID_ELSEWHERE = ("processors", "document_bytes", "configuration")


def _servers(environment: Environment) -> list[tuple[str, str]]:
    """Each server with its version, its TLS library and its processors."""
    target = environment.target
    if len(environment.deployments) < 2:
        return [
            ("Server", f"{target.name} ({target.software})"),
            ("Server's TLS library", target.backend),
            ("Server on processors", _listed(target.processors)),
        ]
    reported = []
    for deployed in environment.deployments:
        each = deployed.target
        processors = f", on processors {_listed(each.processors)}" if each.processors else ""
        what = deployed.failure or f"{each.software}, {each.backend}{processors}"
        levels = deployed.deployment.levels
        given = {
            name: level
            for name in FACTORS
            if name not in _SAID_ELSEWHERE and (level := levels.get(name)) is not None
        }
        label = f"{each.name}, {cell_label(given)}" if given else each.name
        reported.append((f"Server {label}", what))
    return list(dict.fromkeys(reported))


def _generators(summary: Summary) -> list[tuple[str, str]]:
    """The generator's processors, or each of several generators with its clock."""
    if not summary.hosts:
        return [("Generator on processors", _listed(summary.environment.generator_processors))]
    return [(f"Generator {host.name}", host_words(host)) for host in summary.hosts]


def _warm_ups(environment: Environment) -> str:
    """The warm-up of each fresh server, if there was one: `node 5 s, anew for each trial`."""
    targets = [environment.target, *(deployed.target for deployed in environment.deployments)]
    reported = [
        f"{each.name} {each.warm_up_ms / 1000:g} s"
        + (", anew for each trial" if each.fresh_per_trial else "")
        for each in targets
        if each.warm_up_ms
    ]
    return "; ".join(dict.fromkeys(reported))


def _sittings(environment: Environment) -> str:
    """The number of sittings and of machines, and the time of the last; empty for one sitting."""
    if not environment.later:
        return ""
    machines = len(set(environment.machines.values()))
    return (
        f"{len(environment.sittings)}, the last {environment.later[-1].begun}; "
        f"on {counted(machines, 'machine')}"
    )


def _of_machine(name: str, fact: object) -> tuple[str, str]:
    """A fact of the machine with its name; sizes are in GiB."""
    if name == MEMORY and isinstance(fact, int):
        return "Memory", f"{fact / 2**30:.1f} GiB"
    label = name.replace("_", " ").capitalize()
    if isinstance(fact, bool):
        return label, "yes" if fact else "no"
    return label, f"{fact:.2f}" if isinstance(fact, float) else str(fact)


def _listed(processors: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in processors)
