"""A whole run of a capacity experiment: prepare, plan, carry out, keep, summarise."""

import datetime
import random
import resource
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from tlslab.analysis.capacity.capacity_cell import cell_processors
from tlslab.domain import events
from tlslab.domain.capacity import CapacityPlan, GeneratorRules, Step, plan_of
from tlslab.domain.deployment import Deployment
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment, matches
from tlslab.domain.plan import Cell, Plan
from tlslab.domain.run import Environment, by_cell
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment import make_cells
from tlslab.experiment.capacity_planner import left, next_step, resumes_by
from tlslab.experiment.cells import obsolete_cell
from tlslab.lab.capacity.steps import run_step, server_died
from tlslab.lab.conductor import Visit, ended_early
from tlslab.lab.deployments import prepare
from tlslab.lab.generators.choose import generators
from tlslab.lab.opening import open_run, preflight
from tlslab.lab.preflight import OTHER_FILES
from tlslab.lab.private import private_folder
from tlslab.lab.request import Request, Result
from tlslab.lab.results import summarise
from tlslab.lab.serving import Benches
from tlslab.lab.trial import Bench

# A step's time in addition to its window, for starting the engine, connecting, draining and
# writing.
STEP_OVERHEAD_S = 0.5


class StepsAgenda:
    """The missing steps of a capacity experiment; the planner derives them from the kept trials.

    `shared`: the keys of cells whose generator shares a processor with the server.
    """

    def __init__(
        self,
        plan: Plan,
        benches: Benches,
        observer: events.Observer,
        shared: Collection[str] = (),
    ) -> None:
        self.plan = plan
        self.shared = shared
        self.benches = benches
        self.report = observer
        self.number = 0
        self._trials = by_cell(plan, ())

    def visits(self, earlier: Sequence[Trial]) -> Iterator[Visit]:
        """Rounds over the cells with steps left, each round in a random order."""
        self._trials = by_cell(self.plan, earlier)
        self.number = max((trial.trial + 1 for trial in earlier), default=0)
        turn = 0
        while todo := [cell for cell in self.plan.cells if self.next(cell, ()) is not None]:
            # A resumed run draws new orders: no result depends on the order of the cells.
            random.Random(f"{self.plan.seed} {turn} {self.number}").shuffle(todo)
            for cell in todo:
                step = self.next(cell, ())
                if step is not None:
                    yield StepsVisit(self, cell, step)
            turn += 1

    @property
    def _stages(self) -> CapacityPlan:
        """The stages, with the number of generators that are left: some may be lost during the run.

        If none is left, the next step raises the error.
        """
        pool = self.benches.engine
        rules = GeneratorRules(max(1, pool.first), max(1, pool.size))
        return replace(plan_of(self.benches.servers.experiment), generators=rules)

    def next(self, cell: Cell, here: Sequence[Trial]) -> Step | None:
        """The next step of a cell; `here` are the trials on its present server."""
        trials, shared = self._trials[cell.key], cell.key in self.shared
        return next_step(self._stages, cell, self.plan.seed, trials, here, shared)

    def kept(self, trial: Trial) -> None:
        """Adds a trial as input for the planner."""
        self.number += 1
        self._trials[trial.cell].append(trial)
        self.report(events.StepEnded(trial, self.left()))

    def left(self) -> events.Left:
        """The remaining work, at most."""
        return steps_left(self._stages, self.plan, self._trials, self.shared)


class StepsVisit:
    """The steps of one visit of a cell, on one server."""

    def __init__(self, agenda: StepsAgenda, cell: Cell, first: Step) -> None:
        self._agenda = agenda
        self._cell = cell
        self._first = first
        self._here: list[Trial] = []

    @property
    def block(self) -> int:
        """The number of the visit of the cell, in the place of a block."""
        return self._first.visit

    def goes_on(self, trial: Trial) -> bool:
        """Whether another step follows this one on the server."""
        return self._next([*self._here, trial]) is not None

    def _next(self, here: Sequence[Trial]) -> Step | None:
        """The next step on the same server, after those that were made on it."""
        step = self._agenda.next(self._cell, here)
        visit = (self._first.visit, self._first.serves)
        return step if step is not None and (step.visit, step.serves) == visit else None

    def bench(self) -> AbstractContextManager[Bench]:
        """A fresh server of the deployment that the first step needs."""
        benches = self._agenda.benches
        deployment = _deployment(self._cell, self._first)
        prepared = benches.servers.prepared.get(deployment) if deployment else None
        prepared = prepared or benches.servers.of(self._cell)
        return benches.on(prepared, deployment, self._agenda.plan.cells)

    def trials(self, bench: Bench) -> Iterator[Trial]:
        """The steps that share the server, until it dies."""
        agenda, cell = self._agenda, self._cell
        step: Step | None = self._first
        while step is not None:
            agenda.report(events.StepStarted(cell.key, step, agenda.left()))
            trial = run_step(bench, step, cell, agenda.number, self._reporter(step))
            yield trial
            self._here.append(trial)
            if server_died(trial):
                return
            step = self._next(self._here)

    def _reporter(self, step: Step) -> events.ReportListener:
        return lambda report: self._agenda.report(events.of_run(self._cell.key, step.stage, report))

    def failed(self, reason: Reason) -> Iterator[Trial]:
        """The first step, as failed."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        yield Trial(
            trial=self._agenda.number,
            block=self._first.visit,
            position=self._agenda.number,
            cell=self._cell.key,
            factors={**self._cell.factors, **self._first.factors},
            started=now,
            status="failed",
            reason=reason,
        )


def steps_left(
    stages: CapacityPlan,
    plan: Plan,
    trials: Mapping[str, Sequence[Trial]],
    shared: Collection[str] = (),
) -> events.Left:
    """The remaining work, at most; `shared` as in StepsAgenda."""
    counts = [
        left(stages, cell, plan.seed, trials.get(cell.key, ()), cell.key in shared)
        for cell in plan.cells
    ]
    steps = sum(count for count, _ in counts)
    seconds = sum(seconds for _, seconds in counts) + STEP_OVERHEAD_S * steps
    return events.Left(sum(map(len, trials.values())), steps, seconds)


def _deployment(cell: Cell, step: Step) -> Deployment | None:
    """The deployment that a step needs: a separate one if sessions are to be resumed."""
    if cell.deployment is None or step.serves == "none":
        return cell.deployment
    return replace(cell.deployment, resume=step.serves)


def run_capacity(request: Request, observer: events.Observer) -> Result:
    """Runs an experiment of the kind `capacity`, or its missing steps.

    Ends early, with the results so far, on KeyboardInterrupt. Raises UsageError, CannotRunError.
    """
    stages = plan_of(request.experiment)
    if request.external:
        request = replace(request, experiment=for_external(request.experiment, stages))
        stages = plan_of(request.experiment)
    most = max(stages.search.most, stages.open_loop.connections)
    allow_files(most)
    warnings = preflight(request, most, observer)
    extra = () if stages.obsolete is None else (obsolete_cell(stages.obsolete),)
    pool = generators(request.generators, request.on_lost_host)
    with pool as engine, private_folder() as private:
        if engine.size > 1:
            request = replace(request, experiment=for_several(request.experiment, stages))
            stages = plan_of(request.experiment)
        more = (*_resuming(request, stages), *extra)
        servers = prepare(request, engine, private, more, warmed_up=False)
        folder, plan = open_run(
            request, servers, engine, warnings, observer, lambda plan: without_order(plan, extra)
        )
        shared = sharing(plan, folder.environment())
        left = steps_left(stages, plan, by_cell(plan, folder.trials()), shared)
        observer(events.StepsStarted(plan, servers.target.name, folder.path, left))
        agenda = StepsAgenda(plan, Benches(engine, servers), observer, shared)
        early = ended_early(agenda, folder, request.sitting_s)
    return Result(folder.path, summarise(folder), early)


def sharing(plan: Plan, where: Environment) -> set[str]:
    """The keys of the cells whose generator shares a processor with the server."""
    return {cell.key for cell in plan.cells if cell_processors(cell, where)[1]}


def allow_files(connections: int) -> None:
    """Raises this process's limit of open files if possible; programs that it starts inherit the
    limit.

    An open loop has more connections at once than the usual limit of 1,024 allows. Preflight
    reports a limit that cannot be raised.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed and (hard < 0 or needed <= hard):
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def without_order(plan: Plan, extra: tuple[Cell, ...]) -> Plan:
    """The plan with more cells and no order of trials, which the planner determines."""
    return replace(plan, trials=(), cells=(*plan.cells, *extra))


def _resuming(request: Request, stages: CapacityPlan) -> list[Cell]:
    """Copies of the cells on servers that let clients resume sessions, for the remedies."""
    if stages.remedies is None or request.external or not stages.remedies.resume_ratios:
        return []
    found = []
    for cell in make_cells(request.experiment, request.targets[0])[0]:
        assert cell.deployment is not None
        if matches(stages.remedies.when, cell.factors):
            resuming = replace(cell.deployment, resume=resumes_by(stages.remedies.resume, cell))
            found.append(replace(cell, deployment=resuming))
    return found


def for_several(experiment: Experiment, stages: CapacityPlan) -> Experiment:
    """The experiment for several generators: without the capture, which needs one."""
    return replace(experiment, settings=replace(stages, validation=None))


def for_external(experiment: Experiment, stages: CapacityPlan) -> Experiment:
    """The experiment for a server that the lab did not start, without the settings that need the
    lab.

    Raises UsageError for a cell with obsolete settings.
    """
    if stages.obsolete is not None:
        raise UsageError(
            "--allow-obsolete is for servers that the lab starts",
            "leave --allow-obsolete out, or give --target NAME",
        )
    mine = ("processors", "workers")

    def without(levels: object) -> dict[str, str]:
        assert isinstance(levels, dict)
        return {name: level for name, level in levels.items() if name not in mine}

    remedies, validation = stages.remedies, stages.validation
    if remedies is not None:
        remedies = replace(remedies, when=without(remedies.when))
    if validation is not None:
        validation = replace(validation, when=without(validation.when))
    return replace(
        experiment,
        factors=tuple(factor for factor in experiment.factors if factor.name not in mine),
        baseline=without(experiment.baseline),
        settings=replace(stages, remedies=remedies, validation=validation),
    )
