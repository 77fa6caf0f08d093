"""The experiment and the servers of a command line."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tlslab.cli.values import as_seconds, as_share, as_url, servers_in
from tlslab.domain.command_line import is_url
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment
from tlslab.experiment import file_kind, with_levels
from tlslab.experiment.short import asked_for, few
from tlslab.experiment.workload import required_status
from tlslab.servers import find_kind
from tlslab.servers.jdk import ALL, expand

DEFAULT_TARGET = "reference"


@dataclass(frozen=True)
class Changes:
    """Changes to an experiment by options; see `tlslab run --help`."""

    settings: tuple[str, ...] = ()
    jdks: tuple[Path, ...] = ()
    objective: str | None = None
    allow_obsolete: bool = False
    blocks: int | None = None
    seconds: float | None = None
    expect_status: str | None = None
    until: str | None = None
    budget: str | None = None


def changed(experiment: Experiment, changes: Changes) -> Experiment:
    """The experiment with the options applied. Raises UsageError."""
    experiment = with_levels(experiment, parse_levels(list(changes.settings)))
    experiment = with_jdks(experiment, changes.jdks)
    kind = file_kind(experiment)
    experiment = kind.with_objective(experiment, changes.objective, changes.allow_obsolete)
    experiment = _ending(experiment, changes)
    if changes.seconds is not None:
        experiment = kind.with_seconds(experiment, changes.seconds)
    if changes.expect_status is not None:
        status = required_status(changes.expect_status)
        if not kind.has_server:
            raise UsageError(
                f"--expect-status is for experiments with a server: {experiment.name} has none",
                "leave --expect-status out",
            )
        workload = replace(experiment.workload, expect_status=status)
        experiment = replace(experiment, workload=workload)
    return experiment


def _ending(experiment: Experiment, changes: Changes) -> Experiment:
    """The experiment with the options that determine its number of blocks."""
    kind = file_kind(experiment)
    blocks = None if changes.blocks is None else few(changes.blocks)
    if changes.until is None and changes.budget is None:
        return experiment if blocks is None else kind.with_blocks(experiment, blocks)
    until = None if changes.until is None else as_share(changes.until, "--until")
    budget_s = None if changes.budget is None else as_seconds(changes.budget, "--budget")
    experiment = kind.with_stopping(experiment, until, budget_s)
    if kind.why_fixed:
        # The number of blocks follows from their length, which depends on the servers (lab.budget).
        return experiment
    return experiment if blocks is None else replace(experiment, blocks=blocks)


def with_jdks(experiment: Experiment, given: tuple[Path, ...]) -> Experiment:
    """The experiment on the Java installations of this machine and the given ones.

    Benchmarks find theirs when they start. Raises UsageError.
    """
    levels = experiment.levels("jdk")
    if not levels:
        if given and not file_kind(experiment).finds_jdks:
            raise UsageError(
                "--jdk is for experiments on Java: runtimes, concurrency", "leave --jdk out"
            )
        return experiment
    found = expand(levels, given)
    if asked_for() and ALL in levels:
        # A short run takes one: the first given one, or the newest.
        found = expand((), given[:1]) if given else found[-1:]
    return with_levels(experiment, {"jdk": found})


def parse_targets(given: list[str]) -> tuple[str, ...]:
    """The targets of `--target` options: names and URLs, with commas between them; each once.

    `localhost:8443` is the URL https://localhost:8443/. Raises UsageError for unknown names.
    """
    names = tuple(dict.fromkeys(as_url(part) for each in given for part in servers_in(each)))
    if not any(is_url(name) for name in names):
        for name in names:
            find_kind(name)
    return names


def with_targets(
    experiment: Experiment, targets: tuple[str, ...]
) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment on these servers, and the servers; several are levels of the factor `server`.

    Without any: those of the experiment, or the reference server. Raises UsageError.
    """
    kind = file_kind(experiment)
    levels = experiment.levels("server")
    if not targets:
        _refuse_both_kinds("--set server", levels)
        return experiment, levels or (kind.server(experiment) or DEFAULT_TARGET,)
    _refuse_both_kinds("--target", targets)
    if not kind.has_server:
        raise UsageError(
            f"--target is for experiments with a server: {experiment.name} has none",
            "leave --target out",
        )
    if len(targets) > 1 and "server" not in kind.factors:
        raise UsageError(
            f"--target: {experiment.name} takes one server at a time", "make a run for each"
        )
    if is_url(targets[0]) and not all(is_url(level) for level in levels):
        raise UsageError(
            f"--target: {experiment.name} compares servers that the lab starts "
            f"({', '.join(levels)}); it cannot measure a URL",
            "leave out --set server, or take another experiment, such as groups",
        )
    if len(targets) > 1 or levels:
        experiment = with_levels(experiment, {"server": targets})
    return experiment, targets


def _refuse_both_kinds(option: str, servers: Sequence[str]) -> None:
    """Refuses URLs beside servers that the lab starts. Raises UsageError."""
    if len({is_url(server) for server in servers}) > 1:
        raise UsageError(
            f"{option}: a URL and a server that the lab starts cannot be in one run: the lab gives "
            "its own server a processor of its own, and cannot do that for the URL's",
            "make a run for each server; `tlslab compare A B` compares two runs (a comma in the "
            "path of a URL is written %2C)",
        )


def parse_levels(settings: list[str]) -> dict[str, tuple[str, ...]]:
    """`--set` options as levels by factor; a factor may be given once. Raises UsageError."""
    levels: dict[str, tuple[str, ...]] = {}
    for setting in settings:
        factor, equals, values = setting.partition("=")
        wanted = tuple(value.strip() for value in values.split(",") if value.strip())
        if not equals or not wanted:
            raise UsageError(
                f"--set {setting}: not of the form FACTOR=LEVEL,LEVEL",
                "write it like --set group=X25519,P-256",
            )
        if factor in levels:
            raise UsageError(
                f"--set names the factor '{factor}' twice",
                f"give all levels at once: --set {factor}=LEVEL,LEVEL",
            )
        levels[factor] = wanted
    return levels
