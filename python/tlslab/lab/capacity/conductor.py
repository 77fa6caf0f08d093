"""Runs capacity experiments: the planner's steps, cell by cell, until no step is left."""

import datetime
import random
from collections.abc import Sequence
from dataclasses import replace

from tlslab.lab import events
from tlslab.lab.capacity.steps import run_step, server_died
from tlslab.lab.deployments import Servers
from tlslab.lab.engine import Engine
from tlslab.lab.probing import probe_cells
from tlslab.lab.serving import SETUP_FAILED, START_FAILED, NotStarted, serving
from tlslab.lab.trial import Bench
from tlslab.model.capacity import CapacityPlan, Step
from tlslab.model.deployment import Deployment
from tlslab.model.errors import CannotRunError
from tlslab.model.plan import Cell, Plan
from tlslab.model.probe import Probed
from tlslab.model.record import Reason, Trial
from tlslab.planning.capacity import left, next_step
from tlslab.store import RunFolder

# The time of a step outside its window: start the engine, connect, drain, write.
STEP_OVERHEAD_S = 0.5


class CapacityConductor:
    """Runs the missing steps of a capacity experiment.

    The cells take turns, so that drift of the machine affects all cells alike: in each round, every
    cell has a server that is started for it.
    """

    def __init__(self, engine: Engine, servers: Servers, observer: events.Observer) -> None:
        self._engine = engine
        self._servers = servers
        self._report = observer
        self._probed: dict[Deployment | None, Probed] = {}
        self._trials: dict[str, list[Trial]] = {}
        self._number = 0
        settings = servers.experiment.settings
        assert isinstance(settings, CapacityPlan)
        self._load = settings

    def carry_out(self, plan: Plan, folder: RunFolder) -> None:
        """Runs the steps that the folder does not hold yet. Raises StoreError, CannotRunError."""
        self._trials = {cell.key: [] for cell in plan.cells}
        for trial in folder.trials():
            self._trials.setdefault(trial.cell, []).append(trial)
            self._number = max(self._number, trial.trial + 1)
        turn = 0
        while todo := [cell for cell in plan.cells if self._next(plan, cell, ()) is not None]:
            # A resumed run draws other orders; the order of the cells affects no result.
            random.Random(f"{plan.seed} {turn} {self._number}").shuffle(todo)
            for cell in todo:
                self._visit(plan, cell, folder)
            turn += 1

    def _next(self, plan: Plan, cell: Cell, here: Sequence[Trial]) -> Step | None:
        return next_step(self._load, cell, plan.seed, self._trials[cell.key], here)

    def _visit(self, plan: Plan, cell: Cell, folder: RunFolder) -> None:
        """The steps of one visit of a cell, on one server."""
        step = self._next(plan, cell, ())
        if step is None:
            return
        deployment = _deployment(cell, step)
        prepared = self._servers.prepared.get(deployment) if deployment else None
        prepared = prepared or self._servers.of(cell)
        if reason := prepared.failure or prepared.bar:
            self._fail(plan, cell, step, Reason(SETUP_FAILED, reason), folder)
            return
        try:
            with serving(self._engine, self._servers.experiment, prepared) as bench:
                self._run_visit(self._probe(bench, deployment, plan), plan, cell, folder)
        except NotStarted as error:
            if len(self._servers.prepared) == 1:
                raise CannotRunError(error.words, error.remedy) from None
            self._fail(plan, cell, step, Reason(START_FAILED, error.words), folder)

    def _run_visit(self, bench: Bench, plan: Plan, cell: Cell, folder: RunFolder) -> None:
        here: list[Trial] = []
        step = self._next(plan, cell, here)
        visit = None if step is None else (step.visit, step.serves)
        while step is not None and (step.visit, step.serves) == visit:
            self._report(events.StepStarted(cell.key, step, self._left(plan)))
            trial = run_step(bench, step, cell, self._number, self._rate_reporter(cell, step))
            self._keep(plan, trial, folder)
            here.append(trial)
            if server_died(trial):
                return
            step = self._next(plan, cell, here)

    def _rate_reporter(self, cell: Cell, step: Step) -> events.PaceListener:
        return lambda pace: self._report(events.Rate(cell.key, step.stage, pace))

    def _keep(self, plan: Plan, trial: Trial, folder: RunFolder) -> None:
        folder.append(trial)
        self._number += 1
        self._trials[trial.cell].append(trial)
        self._report(events.StepEnded(trial, self._left(plan)))

    def _fail(self, plan: Plan, cell: Cell, step: Step, reason: Reason, folder: RunFolder) -> None:
        """Records a step whose server is missing."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        trial = Trial(
            trial=self._number,
            block=step.visit,
            position=self._number,
            cell=cell.key,
            factors={**cell.factors, **step.factors},
            started=now,
            status="failed",
            reason=reason,
        )
        self._keep(plan, trial, folder)

    def _probe(self, bench: Bench, deployment: Deployment | None, plan: Plan) -> Bench:
        """Probes a deployment's first server; its later servers have the same configuration.

        No probe knows the obsolete protocols: there the first connection shows.
        """
        if deployment is not None and deployment.obsolete:
            return bench
        if deployment not in self._probed:
            cells = [c for c in plan.cells if c.deployment in (deployment, None)]
            found = probe_cells(bench.engine, bench.aim, cells) if cells else Probed()
            self._probed[deployment] = found
        return replace(bench, probed=self._probed[deployment])

    def _left(self, plan: Plan) -> events.Left:
        return steps_left(self._load, plan, self._trials)


def steps_left(load: CapacityPlan, plan: Plan, trials: dict[str, list[Trial]]) -> events.Left:
    """How much is to be done, at most."""
    counts = [left(load, cell, plan.seed, trials.get(cell.key, [])) for cell in plan.cells]
    steps = sum(count for count, _ in counts)
    seconds = sum(seconds for _, seconds in counts) + STEP_OVERHEAD_S * steps
    return events.Left(sum(map(len, trials.values())), steps, seconds)


def _deployment(cell: Cell, step: Step) -> Deployment | None:
    """The deployment that a step needs: another one where sessions are to be resumed."""
    if cell.deployment is None or step.serves == "none":
        return cell.deployment
    return replace(cell.deployment, resume=step.serves)
