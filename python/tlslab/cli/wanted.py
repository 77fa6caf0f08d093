"""The experiment and the servers that a command line asks for."""

from dataclasses import replace
from pathlib import Path

from tlslab.experiment import with_levels
from tlslab.experiment.load import required_objective
from tlslab.model.benchmark import BenchmarkSettings
from tlslab.model.errors import UsageError
from tlslab.model.experiment import Experiment
from tlslab.model.load import LoadPlan
from tlslab.targets.jdk import expand

DEFAULT_TARGET = "reference"


def with_jdks(experiment: Experiment, given: tuple[Path, ...]) -> Experiment:
    """The experiment on the Java installations of this machine and those given. UsageError.

    Benchmarks find theirs when they begin.
    """
    levels = experiment.levels("jdk")
    if not levels:
        if given and not isinstance(experiment.settings, BenchmarkSettings):
            raise UsageError("--jdk is for experiments on Java: runtimes, concurrency")
        return experiment
    return with_levels(experiment, {"jdk": expand(levels, given)})


def with_load_options(
    experiment: Experiment, objective: str | None, allow_obsolete: bool
) -> Experiment:
    """The experiment with another objective, and without its obsolete cell unless it is allowed."""
    load = experiment.settings
    if not isinstance(load, LoadPlan):
        if objective is not None or allow_obsolete:
            raise UsageError("--objective and --allow-obsolete are for load experiments: capacity")
        return experiment
    if objective is not None:
        load = replace(load, objective=required_objective(objective))
    if not allow_obsolete:
        load = replace(load, obsolete=None)
    return replace(experiment, settings=load)


def parse_targets(given: list[str]) -> tuple[str, ...]:
    """`--target` options, each a URL or names with commas between them; none twice."""
    names = [
        part.strip()
        for each in given
        for part in ([each] if "://" in each else each.split(","))
        if part.strip()
    ]
    return tuple(dict.fromkeys(names))


def with_targets(
    experiment: Experiment, targets: tuple[str, ...]
) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment with these servers, and its servers; several are levels of a factor.

    Without any, those of the experiment, or the reference server. Raises UsageError.
    """
    if not targets:
        return experiment, experiment.levels("server") or (DEFAULT_TARGET,)
    if any("://" in target for target in targets):
        if len(targets) > 1 or experiment.levels("server"):
            raise UsageError("--target: a URL cannot be compared with other servers in one run")
        return experiment, targets
    if len(targets) > 1 or experiment.levels("server"):
        experiment = with_levels(experiment, {"server": targets})
    return experiment, targets


def parse_levels(settings: list[str]) -> dict[str, tuple[str, ...]]:
    """`--set` options as levels by factor; a factor may be given once. Raises UsageError."""
    levels: dict[str, tuple[str, ...]] = {}
    for setting in settings:
        factor, equals, values = setting.partition("=")
        wanted = tuple(value.strip() for value in values.split(",") if value.strip())
        if not equals or not wanted:
            raise UsageError(f"--set {setting}: has the form FACTOR=LEVEL,LEVEL")
        if factor in levels:
            raise UsageError(f"--set names the factor '{factor}' twice")
        levels[factor] = wanted
    return levels
