"""The circumstances of a run as names and values, and the command that repeats it."""

import shlex
from pathlib import Path

from tlslab.domain.command_line import ONE_RUN, without_options
from tlslab.domain.factors import FACTORS
from tlslab.domain.finding import Summary
from tlslab.domain.run import BOOT, MEMORY, Environment
from tlslab.domain.wording import cell_label, counted
from tlslab.words.load import load_facts
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
