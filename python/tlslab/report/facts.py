"""The circumstances of a run as names and values, and the command that repeats it."""

import shlex
from pathlib import Path

from tlslab.model.commands import ONE_RUN, without_options
from tlslab.model.finding import Summary
from tlslab.model.run import Environment
from tlslab.model.wording import cell_label
from tlslab.report.host_words import host_words
from tlslab.report.selftest_words import selftest_words


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
    workload = summary.experiment.workload
    document = workload.get("document_bytes", 0)
    pairs = [
        *_servers(environment),
        *summary.server_side.items(),
        ("Under load before its trials", _warm_ups(environment)),
        *_generators(summary),
        ("Document", f"{document:,} bytes" if document else ""),
        ("Connections at once", str(workload.get("connections", ""))),
        ("Blocks", str(summary.experiment.blocks)),
        ("Seed", str(summary.experiment.seed)),
        ("Begun", environment.created),
        ("tlslab", environment.tlslab),
        ("Self-test", selftest_words(environment.selftest) if environment.selftest else ""),
    ]
    pairs += [(_words(name), _fact(name, fact)) for name, fact in environment.machine.items()]
    pairs += [(f"Version of {name}", text) for name, text in environment.versions.items()]
    return tuple(pair for pair in pairs if pair[1])


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
        settings = {
            name: getattr(deployed.deployment, name)
            for name in ("copy", "burn", "workers", "dh_bits", "jdk", "connector")
        }
        given = {name: str(level) for name, level in settings.items() if level is not None}
        if deployed.deployment.ocsp_stapling:
            given["ocsp_stapling"] = "on"
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


def _words(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ").capitalize()


def _fact(name: str, fact: object) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if name.endswith("_bytes") and isinstance(fact, int | float):
        return f"{fact / 2**30:.1f} GiB"
    return f"{fact:.2f}" if isinstance(fact, float) else str(fact)


def _listed(processors: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in processors)
