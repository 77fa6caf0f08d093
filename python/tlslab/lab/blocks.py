"""A run whose plan is cells in randomised blocks: prepare, plan, carry out, keep, summarise."""

import datetime
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from tlslab.experiment import dumps
from tlslab.lab import events
from tlslab.lab.conductor import Conductor, RunTrial, sharing
from tlslab.lab.deployments import Servers, prepare
from tlslab.lab.engine import Engine
from tlslab.lab.environment import describe
from tlslab.lab.hooks import hooked
from tlslab.lab.placement import Placement
from tlslab.lab.preflight import check_run
from tlslab.lab.primitives import measure_primitives
from tlslab.lab.private import private_folder
from tlslab.lab.programs import require_program
from tlslab.lab.request import Request, Result
from tlslab.lab.results import summarise
from tlslab.model.errors import CannotRunError, EngineError, UsageError
from tlslab.model.experiment import Experiment
from tlslab.model.plan import Plan
from tlslab.model.run import TargetInfo
from tlslab.planning import make_plan
from tlslab.store import RunFolder


def run_cells(
    request: Request, observer: events.Observer, run: RunTrial, seconds_per_trial: float
) -> Result:
    """Runs an experiment, or the missing trials of a resumed run, with `run` for each trial.

    Ends early, with the results so far, on KeyboardInterrupt. Raises UsageError, CannotRunError.
    """
    warnings = preflight(request, most_connections(request.experiment), observer)
    engine = Engine(require_program("tlslab-load"))
    with private_folder() as private:
        servers = prepare(request, engine, private)
        for warning in servers.warnings():
            observer(events.Warned(warning))
        warnings += servers.warnings()
        folder, plan = open_run(request, servers, engine, warnings, observer)
        observer(
            events.RunStarted(
                plan=plan,
                target=servers.target.name,
                folder=folder.path,
                done=len(folder.trials()),
                seconds_per_trial=seconds_per_trial + warm_up_seconds(plan, servers),
            )
        )
        if request.hook is not None:
            run = hooked(request.hook, request.ready_s, servers.experiment, run)
        conductor = Conductor(engine, servers, observer, run)
        interrupted = False
        try:
            conductor.carry_out(plan, folder)
        except KeyboardInterrupt:
            interrupted = True
    return Result(folder.path, summarise(folder), interrupted)


def warm_up_seconds(plan: Plan, servers: Servers) -> float:
    """The time for which fresh servers are warmed up, shared out over the trials, in seconds."""
    starts = [servers.of(plan.cell(group[0].cell)) for group in sharing(plan.trials, plan, servers)]
    return sum(each.info.warm_up_ms for each in starts) / 1000 / max(1, len(plan.trials))


def most_connections(experiment: Experiment) -> int:
    """The most connections that any run of the experiment has at once."""
    workload = experiment.workload
    keep_alive = workload.keep_alive.connections if workload.keep_alive else 0
    levels = [int(level) for level in experiment.levels("connections")]
    return (
        max(workload.connections, keep_alive, *levels)
        if levels
        else max(workload.connections, keep_alive)
    )


def preflight(request: Request, connections: int, observer: events.Observer) -> tuple[str, ...]:
    """Refuses what cannot work on this machine, and reports what may disturb."""
    targets = request.experiment.levels("server") or request.targets
    checks = check_run(connections, targets, not request.external)
    for check in checks:
        if check.level == "hard":
            raise CannotRunError(check.message, check.remedy)
    warnings = tuple(check.text for check in checks if check.level == "warning")
    for warning in warnings:
        observer(events.Warned(warning))
    return warnings


def open_run(
    request: Request,
    servers: Servers,
    engine: Engine,
    warnings: Sequence[str],
    observer: events.Observer,
    amend: Callable[[Plan], Plan] = lambda plan: plan,
) -> tuple[RunFolder, Plan]:
    """The folder to resume, if it is of the same experiment and target, or else a new one.

    `amend` adapts the plan of the cells to the kind of experiment.
    """
    target = servers.target
    if request.resume is not None:
        folder = RunFolder.resume(request.resume)
        _refuse_other(folder, request, servers)
        return folder, folder.plan()
    seed = random.SystemRandom().getrandbits(32) if request.seed is None else request.seed
    plan = amend(make_plan(servers.experiment, seed, servers.refuse, request.targets[0]))
    if not plan.cells:
        reasons = "; ".join(dict.fromkeys(excluded.reason for excluded in plan.excluded))
        raise UsageError(f"no cell is left to run: {reasons}")
    warnings, primitives = list(warnings), None
    try:
        document = servers.experiment.workload.document_bytes
        primitives = measure_primitives(engine, plan, document, servers.generator)
    except EngineError as error:
        warnings.append(f"no limits: the primitives could not be measured: {error.message}")
        observer(events.Warned(warnings[-1]))
    placement = Placement(target.processors, servers.generator)
    environment = describe(
        target, placement, request.command, warnings, primitives, servers.deployed
    )
    path = request.out or default_folder(servers.experiment.name, target)
    return RunFolder.create(path, dumps(servers.experiment), plan, environment), plan


def _refuse_other(folder: RunFolder, request: Request, servers: Servers) -> None:
    if folder.experiment_text() != dumps(servers.experiment):
        raise UsageError(f"{folder.path} holds another experiment than the one asked for")
    earlier = folder.environment().target.name
    if earlier != servers.target.name:
        raise UsageError(f"{folder.path} holds a run against '{earlier}'")
    if request.seed not in (None, folder.plan().seed):
        raise UsageError(f"{folder.path} was planned with the seed {folder.plan().seed}")


def default_folder(experiment: str, target: TargetInfo) -> Path:
    """`runs/EXPERIMENT-TARGET-TIME`; of an external target only safe characters of the host."""
    name = re.sub(r"[^A-Za-z0-9.+-]", "_", target.name if target.managed else target.host)[:64]
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    return Path("runs") / f"{experiment}-{name}-{now}"
