"""The agenda of a capacity experiment: each cell step by step, as the planner decides.

The cells take turns: in each round every cell has one server of its own, started for it, so that
drift of the machine hits all cells alike.
"""

import datetime
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from tlslab.domain import events
from tlslab.domain.capacity import CapacityPlan, GeneratorRules, Step, plan_of
from tlslab.domain.deployment import Deployment
from tlslab.domain.plan import Cell, Plan
from tlslab.domain.run import by_cell
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment.capacity_planner import left, next_step
from tlslab.lab.capacity.steps import run_step, server_died
from tlslab.lab.conductor import Visit
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
        here: list[Trial] = []
        visit = (self._first.visit, self._first.serves)
        step: Step | None = self._first
        while step is not None and (step.visit, step.serves) == visit:
            agenda.report(events.StepStarted(cell.key, step, agenda.left()))
            trial = run_step(bench, step, cell, agenda.number, self._reporter(step))
            yield trial
            here.append(trial)
            if server_died(trial):
                return
            step = agenda.next(cell, here)

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
