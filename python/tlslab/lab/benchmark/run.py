"""A whole run of the kind `benchmark`: prepare, plan, carry out, keep, summarise."""

import datetime
import os
import random
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from tlslab.experiment import dumps
from tlslab.lab import events
from tlslab.lab.benchmark.in_memory import WARMUP_S
from tlslab.lab.benchmark.jmh import find_jar
from tlslab.lab.benchmark.keystores import KeyStore, KeyStores
from tlslab.lab.benchmark.material import make_material
from tlslab.lab.benchmark.runtimes import Runtimes
from tlslab.lab.benchmark.trial import LASTING, Bench, run_trial
from tlslab.lab.engine import Engine
from tlslab.lab.environment import describe
from tlslab.lab.placement import Placement
from tlslab.lab.preflight import check_company
from tlslab.lab.private import private_folder
from tlslab.lab.programs import require_program
from tlslab.lab.request import Request, Result
from tlslab.lab.results import summarise
from tlslab.model.benchmark import ENGINE, BenchmarkSettings
from tlslab.model.errors import UsageError
from tlslab.model.experiment import Experiment, Factor
from tlslab.model.plan import Cell, Plan
from tlslab.model.run import TargetInfo
from tlslab.planning import make_plan
from tlslab.planning.faults import add_faults
from tlslab.store import RunFolder
from tlslab.targets.jdk import find_jdks

# The time for starting two virtual machines per JMH process, opening keys, writing results.
FORK_OVERHEAD_S = 1.5

TARGET = "in memory"


def run_benchmarks(request: Request, observer: events.Observer) -> Result:
    """Runs an experiment, or the missing trials of a resumed run.

    Ends early, with the results so far, on KeyboardInterrupt. Raises UsageError, CannotRunError.
    """
    runtimes = Runtimes.of(find_jdks(request.jdks))
    experiment = with_runtimes(request.experiment, runtimes, request.jdks)
    machines = [level for level in experiment.levels("runtime") if level != ENGINE]
    jar = find_jar() if machines else None
    with ExitStack() as stack:
        private = stack.enter_context(private_folder())
        material = make_material(private)
        stores = stack.enter_context(KeyStores(experiment.levels("keys"), material))
        opened = stores.all()
        warnings = _warnings(opened, runtimes, experiment)
        for warning in warnings:
            observer(events.Warned(warning))
        folder, plan = _open(request, experiment, runtimes, opened, warnings)
        settings: BenchmarkSettings = experiment.settings
        seconds = mean_seconds(plan, settings)
        observer(events.RunStarted(plan, None, folder.path, len(folder.trials()), seconds))
        engine = Engine(require_program("tlslab-load"))
        bench = Bench(engine, runtimes, stores, material, settings, jar, folder.path)
        interrupted = False
        try:
            carry_out(bench, plan, folder, observer)
        except KeyboardInterrupt:
            interrupted = True
    return Result(folder.path, summarise(folder), interrupted)


def with_runtimes(
    experiment: Experiment, runtimes: Runtimes, given: Sequence[Path] = ()
) -> Experiment:
    """The experiment with the installed runtimes, and with those in the given folders."""
    factors = tuple(
        Factor("runtime", runtimes.expand((*factor.levels, *runtimes.named(given))))
        if factor.name == "runtime"
        else factor
        for factor in experiment.factors
    )
    levels = {factor.name: factor.levels for factor in factors}
    missing = [name for name in ("runtime", "benchmark", "keys", "threads") if name not in levels]
    if missing:
        raise UsageError(f"an experiment of this kind needs the factor '{missing[0]}'")
    baseline = {
        name: level if level in levels[name] else levels[name][0]
        for name, level in experiment.baseline.items()
    }
    return replace(experiment, factors=factors, baseline=baseline)


def mean_seconds(plan: Plan, settings: BenchmarkSettings) -> float:
    """How long a trial takes on average, in seconds: forks, the engine's, loads with a fault."""

    def of(cell: Cell) -> float:
        if settings.faults is not None and "fault" in cell.factors:
            return settings.faults.seconds + FORK_OVERHEAD_S
        if cell.factors["runtime"] == ENGINE:
            return settings.iterations * settings.iteration_ms / 1000 + WARMUP_S
        return settings.seconds + len(settings.modes) * FORK_OVERHEAD_S

    lengths = [of(plan.cell(trial.cell)) for trial in plan.trials]
    return sum(lengths) / max(1, len(lengths))


def carry_out(bench: Bench, plan: Plan, folder: RunFolder, observer: events.Observer) -> None:
    """Runs the trials that the folder does not hold yet. Raises StoreError, CannotRunError.

    A cell with a permanent reason to fail is recorded once.
    """
    earlier = folder.trials()
    done = {trial.trial for trial in earlier}
    barred = {trial.cell for trial in earlier if trial.reason and trial.reason.class_ in LASTING}
    block = -1
    for planned in plan.trials:
        if planned.trial in done or planned.cell in barred:
            continue
        if planned.block != block:
            block = planned.block
            observer(events.BlockStarted(block))
        observer(events.TrialStarted(block, planned.cell))
        trial = run_trial(bench, planned, plan.cell(planned.cell))
        folder.append(trial)
        observer(events.TrialEnded(trial))
        if trial.reason and trial.reason.class_ in LASTING:
            barred.add(trial.cell)
            later = sum(p.cell == trial.cell and p.block > block for p in plan.trials)
            observer(events.Skipped(later, f"{trial.cell}: {trial.reason.message}"))


def _warnings(stores: Sequence[KeyStore], runtimes: Runtimes, experiment: Experiment) -> list[str]:
    levels = experiment.levels("runtime")
    reported = [f"{store.name}: {store.failure}" for store in stores if store.failure]
    reported += [broken.reason for name, broken in runtimes.broken.items() if name in levels]
    return reported + [check.text for check in check_company() if check.level == "warning"]


def _open(
    request: Request,
    experiment: Experiment,
    runtimes: Runtimes,
    stores: Sequence[KeyStore],
    warnings: Sequence[str],
) -> tuple[RunFolder, Plan]:
    """The folder to resume, if it is of the same experiment, or else a new one."""
    if request.resume is not None:
        folder = RunFolder.resume(request.resume)
        if folder.experiment_text() != dumps(experiment):
            raise UsageError(f"{folder.path} holds another experiment than the one asked for")
        if request.seed not in (None, folder.plan().seed):
            raise UsageError(f"{folder.path} was planned with the seed {folder.plan().seed}")
        return folder, folder.plan()
    seed = random.SystemRandom().getrandbits(32) if request.seed is None else request.seed
    plan = add_faults(make_plan(experiment, seed), experiment)
    if not plan.trials:
        raise UsageError("no cell is left to run: all are excluded")
    processors = tuple(sorted(os.sched_getaffinity(0)))
    info = TargetInfo(
        name=TARGET,
        managed=True,
        software=runtimes.words(experiment.levels("runtime")) or "the lab's own engine",
        backend="; ".join(f"{store.name}: {store.words}" for store in stores if store.words),
        processors=processors,
        host="",
        path="",
    )
    environment = describe(info, Placement(processors, processors), request.command, warnings)
    path = request.out or _default_folder(experiment.name)
    return RunFolder.create(path, dumps(experiment), plan, environment), plan


def _default_folder(name: str) -> Path:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    return Path("runs") / f"{name}-{now}"
