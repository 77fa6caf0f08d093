"""The experiment and the servers that a command line asks for."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tlslab.cli.options import as_url
from tlslab.experiment import with_levels
from tlslab.experiment.capacity import required_objective
from tlslab.experiment.workload import required_status
from tlslab.model.benchmark import BenchmarkSettings
from tlslab.model.capacity import CapacityPlan
from tlslab.model.errors import UsageError
from tlslab.model.experiment import Experiment
from tlslab.model.workload import NO_WINDOW, Window
from tlslab.targets import find_kind
from tlslab.targets.jdk import expand

DEFAULT_TARGET = "reference"

# The stages of a capacity experiment whose windows are measurements, and not a search for them.
_MEASURED = ("maximum", "open_loop", "remedies")


@dataclass(frozen=True)
class Changes:
    """What the options change in an experiment; see `tlslab run --help`."""

    settings: tuple[str, ...] = ()
    jdks: tuple[Path, ...] = ()
    objective: str | None = None
    allow_obsolete: bool = False
    blocks: int | None = None
    seconds: float | None = None
    expect_status: str | None = None


def changed(experiment: Experiment, changes: Changes) -> Experiment:
    """The experiment as the options have it. Raises UsageError."""
    experiment = with_levels(experiment, parse_levels(list(changes.settings)))
    experiment = with_jdks(experiment, changes.jdks)
    experiment = with_capacity_options(experiment, changes.objective, changes.allow_obsolete)
    if changes.blocks is not None:
        experiment = with_blocks(experiment, changes.blocks)
    if changes.seconds is not None:
        experiment = with_seconds(experiment, changes.seconds)
    if changes.expect_status is not None:
        status = required_status(changes.expect_status)
        if isinstance(experiment.settings, BenchmarkSettings):
            raise UsageError("--expect-status is for experiments with a server")
        workload = replace(experiment.workload, expect_status=status)
        experiment = replace(experiment, workload=workload)
    return experiment


def with_blocks(experiment: Experiment, blocks: int) -> Experiment:
    """The experiment with N blocks; a capacity experiment repeats its measurements N times."""
    load = experiment.settings
    if not isinstance(load, CapacityPlan):
        return replace(experiment, blocks=blocks)
    changes: dict[str, Any] = {
        "maximum": replace(load.maximum, trials=blocks, most=max(blocks, load.maximum.most)),
        "open_loop": replace(load.open_loop, trials=blocks),
    }
    if load.remedies is not None:
        changes["remedies"] = replace(load.remedies, trials=blocks)
    return replace(experiment, settings=replace(load, **changes))


def with_seconds(experiment: Experiment, seconds: float) -> Experiment:
    """The experiment with measurements of this length; warm-ups and searches are left as they are.

    A benchmark's iterations share the time.
    """
    measure_ms = round(seconds * 1000)

    def longer(window: Window) -> Window:
        return window if window == NO_WINDOW else replace(window, measure_ms=measure_ms)

    settings = experiment.settings
    if isinstance(settings, BenchmarkSettings):
        each = max(10, round(measure_ms / settings.iterations))
        return replace(experiment, settings=replace(settings, iteration_ms=each))
    if isinstance(settings, CapacityPlan):
        stages = {name: getattr(settings, name) for name in _MEASURED}
        new = {
            name: replace(stage, window=longer(stage.window))
            for name, stage in stages.items()
            if stage is not None
        }
        return replace(experiment, settings=replace(settings, **new))
    work = experiment.workload
    keep_alive = work.keep_alive and replace(work.keep_alive, window=longer(work.keep_alive.window))
    work = replace(
        work,
        capacity=longer(work.capacity),
        client_cost=longer(work.client_cost),
        keep_alive=keep_alive,
    )
    return replace(experiment, workload=work)


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


def with_capacity_options(
    experiment: Experiment, objective: str | None, allow_obsolete: bool
) -> Experiment:
    """The experiment with another objective, and without its obsolete cell unless it is allowed."""
    load = experiment.settings
    if not isinstance(load, CapacityPlan):
        if objective is not None or allow_obsolete:
            raise UsageError("--objective and --allow-obsolete go with capacity experiments")
        return experiment
    if objective is not None:
        load = replace(load, objective=required_objective(objective))
    if not allow_obsolete:
        load = replace(load, obsolete=None)
    return replace(experiment, settings=load)


def parse_targets(given: list[str]) -> tuple[str, ...]:
    """`--target` options, each a URL or names with commas between them; none twice.

    `localhost:8443` is the URL https://localhost:8443/. Raises UsageError for unknown names.
    """
    names = [
        as_url(part.strip())
        for each in given
        for part in ([each] if "://" in each else each.split(","))
        if part.strip()
    ]
    for name in names:
        if "://" not in name:
            find_kind(name)
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
