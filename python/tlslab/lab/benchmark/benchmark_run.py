"""A whole run of the kind `benchmark`: prepare, plan, carry out, keep, summarise."""

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from tlslab.domain import events
from tlslab.domain.benchmark import ENGINE, BenchmarkSettings, settings_of
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment, Factor
from tlslab.domain.plan import Cell, Plan, PlannedTrial
from tlslab.domain.run import Environment, TargetInfo
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment import make_plan
from tlslab.experiment.benchmark import add_faults
from tlslab.lab.benchmark.benchmark_trial import LASTING, Bench, run_trial
from tlslab.lab.benchmark.in_memory import WARMUP_S
from tlslab.lab.benchmark.jmh import find_jar
from tlslab.lab.benchmark.keystores import KeyStore, KeyStores, make_material
from tlslab.lab.benchmark.runtimes import Runtimes
from tlslab.lab.conductor import Visit, ended_early
from tlslab.lab.engine import local_pool
from tlslab.lab.opening import describe, open_folder
from tlslab.lab.placement import Placement
from tlslab.lab.preflight import check_company
from tlslab.lab.private import private_folder
from tlslab.lab.request import Request, Result
from tlslab.lab.results import summarise
from tlslab.lab.sittings import OtherMachines
from tlslab.lab.store import RunFolder
from tlslab.lab.trial import failed_trial
from tlslab.servers.jdk import find_jdks

# The time for starting two virtual machines per JMH process, opening keys and writing results.
FORK_OVERHEAD_S = 1.5

TARGET = "in memory"


def run_benchmarks(request: Request, observer: events.Observer) -> Result:
    """Runs an experiment, or its missing trials.

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
        settings = settings_of(experiment)
        seconds = mean_seconds(plan, settings)
        observer(events.RunStarted(plan, None, folder.path, len(folder.trials()), seconds))
        engine = local_pool()
        bench = Bench(engine, runtimes, stores, material, settings, jar, folder.path)
        agenda = BenchmarkAgenda(plan, bench, observer, folder.environment())
        early = ended_early(agenda, folder, request.sitting_s)
    return Result(folder.path, summarise(folder), early)


def with_runtimes(
    experiment: Experiment, runtimes: Runtimes, given: Sequence[Path] = ()
) -> Experiment:
    """The experiment with the runtimes of this machine, including those in the given folders."""
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
    """The mean duration of a trial in seconds: forks, the engine's trials, loads with a fault."""

    def of(cell: Cell) -> float:
        if settings.faults is not None and "fault" in cell.factors:
            return settings.faults.seconds + FORK_OVERHEAD_S
        if cell.factors["runtime"] == ENGINE:
            return settings.iterations * settings.iteration_ms / 1000 + WARMUP_S
        return settings.seconds + len(settings.modes) * FORK_OVERHEAD_S

    lengths = [of(plan.cell(trial.cell)) for trial in plan.trials]
    return sum(lengths) / max(1, len(lengths))


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
    """The run folder and its plan."""
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

    def plan_of(seed: int) -> Plan:
        return add_faults(make_plan(experiment, seed), experiment)

    def environment_of(plan: Plan) -> Environment:
        return describe(info, Placement(processors, processors), request.command, warnings)

    return open_folder(request, experiment, info, plan_of, environment_of)


class BenchmarkAgenda:
    """The missing trials of a plan.

    A cell that would fail in every block for the same reason is recorded once.
    """

    def __init__(
        self, plan: Plan, bench: Bench, observer: events.Observer, environment: Environment
    ) -> None:
        self.plan = plan
        self.environment = environment
        self.bench = bench
        self.report = observer
        self.barred: set[str] = set()

    def visits(self, earlier: Sequence[Trial]) -> Iterator[Visit]:
        """The trials block by block."""
        done = {trial.trial for trial in earlier}
        others = OtherMachines(self.environment, earlier)
        self.barred = {trial.cell for trial in earlier if _lasts(trial)}
        for block, trials in groupby(self.plan.trials, key=lambda planned: planned.block):
            planned = [each for each in trials if each.cell not in self.barred]
            todo = [each for each in planned if each.trial not in done]
            if others.made(block) and todo:
                todo = planned if others.may_begin_again(block) else []
            if todo:
                yield BenchmarkVisit(self, todo)

    def kept(self, trial: Trial) -> None:
        """Leaves out the later trials of a cell that would fail again for the same reason."""
        self.report(events.TrialEnded(trial))
        if trial.reason is not None and _lasts(trial):
            self.barred.add(trial.cell)
            later = sum(p.cell == trial.cell and p.block > trial.block for p in self.plan.trials)
            self.report(events.Skipped(later, f"{trial.cell}: {trial.reason.message}"))


class BenchmarkVisit:
    """The trials of one block."""

    def __init__(self, agenda: BenchmarkAgenda, todo: Sequence[PlannedTrial]) -> None:
        self._agenda = agenda
        self._todo = todo

    @property
    def block(self) -> int:
        """The block of the trials."""
        return self._todo[0].block

    def goes_on(self, trial: Trial) -> bool:
        """Whether another trial follows this one."""
        return trial.trial != self._todo[-1].trial

    def bench(self) -> AbstractContextManager[Bench]:
        """The bench of the whole run."""
        return nullcontext(self._agenda.bench)

    def trials(self, bench: Bench) -> Iterator[Trial]:
        """Runs the trials one after the other."""
        agenda = self._agenda
        agenda.report(events.BlockStarted(self._todo[0].block))
        for planned in self._todo:
            agenda.report(events.TrialStarted(planned.block, planned.cell))
            yield run_trial(bench, planned, agenda.plan.cell(planned.cell))

    def failed(self, reason: Reason) -> Iterator[Trial]:
        """Each trial of the block, as failed."""
        for planned in self._todo:
            yield failed_trial(planned, self._agenda.plan.cell(planned.cell), reason)


def _lasts(trial: Trial) -> bool:
    """Whether the reason will be the same in the next block."""
    return trial.reason is not None and trial.reason.class_ in LASTING
