"""Runs a plan block by block.

Each deployment of a block has a fresh server; a server that gets slower with time is restarted for
each trial. Each finished trial is stored at once.
"""

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from tlslab.lab import events
from tlslab.lab.deployments import Servers
from tlslab.lab.engine import Engine
from tlslab.lab.events import Pace
from tlslab.lab.probing import probe_cells
from tlslab.lab.serving import SETUP_FAILED, START_FAILED, NotStarted, serving
from tlslab.lab.trial import SERVER_DIED, Bench
from tlslab.lab.warm_up import warm_up
from tlslab.model.deployment import Deployment
from tlslab.model.errors import CannotRunError
from tlslab.model.plan import Cell, Plan, PlannedTrial
from tlslab.model.probe import Probed
from tlslab.model.record import Reason, RunKind, Trial
from tlslab.store import RunFolder

RunTrial = Callable[[Bench, PlannedTrial, Cell, Callable[[RunKind, Pace], None]], Trial]


def sharing(
    trials: Sequence[PlannedTrial], plan: Plan, servers: Servers
) -> Iterator[list[PlannedTrial]]:
    """The trials in their order, grouped by the start of the server that they share."""
    cells = {cell.key: cell for cell in plan.cells}

    def server_of(planned: PlannedTrial) -> tuple[int, Deployment | None, int | None]:
        cell = cells[planned.cell]
        own = planned.trial if servers.of(cell).info.fresh_per_trial else None
        return planned.block, cell.deployment, own

    for _, group in groupby(trials, key=server_of):
        yield list(group)


class Conductor:
    """Runs the missing trials of a plan; `run` makes a trial of a cell.

    With several deployments, a server that fails stops its own cells only.
    """

    def __init__(
        self, engine: Engine, servers: Servers, observer: events.Observer, run: RunTrial
    ) -> None:
        self._engine = engine
        self._servers = servers
        self._report = observer
        self._run = run
        self._probed: dict[Deployment | None, Probed] = {}

    def carry_out(self, plan: Plan, folder: RunFolder) -> None:
        """Runs the trials that the folder does not hold yet. Raises StoreError, CannotRunError.

        A cell that its server does not support, or whose server cannot be set up, is recorded once.
        When a server dies, the trial has failed, and the rest of the block is left out for its
        cells; the next block has a fresh server.
        """
        earlier = folder.trials()
        done = {trial.trial for trial in earlier}
        barred = {trial.cell for trial in earlier if _bars(trial)}
        missing = [planned for planned in plan.trials if planned.trial not in done]
        for group in sharing(missing, plan, self._servers):
            todo = [planned for planned in group if planned.cell not in barred]
            if todo:
                self._run_block(todo[0].block, todo, plan, folder, barred)

    def _run_block(
        self,
        block: int,
        todo: list[PlannedTrial],
        plan: Plan,
        folder: RunFolder,
        barred: set[str],
    ) -> None:
        """Trials of one block on one server."""
        first = plan.cell(todo[0].cell)
        prepared = self._servers.of(first)
        if prepared.failure:
            self._fail(todo, plan, folder, Reason(SETUP_FAILED, prepared.failure), barred)
            return
        try:
            with serving(self._engine, self._servers.experiment, prepared) as bench:
                self._report(events.BlockStarted(block))
                bench = self._probe(bench, first.deployment, plan)
                self._warm_up(bench, prepared.info.warm_up_ms, [plan.cell(p.cell) for p in todo])
                self._run_trials(bench, block, todo, plan, folder, barred)
        except NotStarted as error:
            if len(self._servers.prepared) == 1:
                raise CannotRunError(error.words, error.remedy) from None
            self._fail(todo, plan, folder, Reason(START_FAILED, error.words))

    def _warm_up(self, bench: Bench, length_ms: int, cells: Sequence[Cell]) -> None:
        """Loads the server with the first cell that it supports, if its kind needs a warm-up."""
        able = [cell for cell in cells if cell.key not in bench.probed.refused]
        if length_ms and able:
            key = able[0].key
            warm_up(
                bench,
                able[0],
                length_ms,
                lambda pace: self._report(events.Rate(key, "capacity", pace)),
            )

    def _run_trials(
        self,
        bench: Bench,
        block: int,
        todo: list[PlannedTrial],
        plan: Plan,
        folder: RunFolder,
        barred: set[str],
    ) -> None:
        for number, planned in enumerate(todo, start=1):
            trial = self._run_one(bench, planned, plan)
            self._keep(trial, plan, folder, barred)
            if trial.reason is not None and trial.reason.class_ == SERVER_DIED:
                rest = len(todo) - number
                self._report(events.Skipped(rest, f"the server died in block {block + 1}"))
                return

    def _keep(self, trial: Trial, plan: Plan, folder: RunFolder, barred: set[str]) -> None:
        folder.append(trial)
        self._report(events.TrialEnded(trial))
        if _bars(trial):
            barred.add(trial.cell)
            later = sum(p.cell == trial.cell and p.block > trial.block for p in plan.trials)
            why = "is unsupported" if trial.status == "unsupported" else "has no server"
            self._report(events.Skipped(later, f"{trial.cell} {why}"))

    def _run_one(self, bench: Bench, planned: PlannedTrial, plan: Plan) -> Trial:
        self._report(events.TrialStarted(planned.block, planned.cell))
        return self._run(
            bench,
            planned,
            plan.cell(planned.cell),
            lambda kind, rate: self._report(events.Rate(planned.cell, kind, rate)),
        )

    def _fail(
        self,
        todo: list[PlannedTrial],
        plan: Plan,
        folder: RunFolder,
        reason: Reason,
        barred: set[str] | None = None,
    ) -> None:
        """Records trials whose server is missing."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        for planned in todo:
            trial = Trial(
                trial=planned.trial,
                block=planned.block,
                position=planned.position,
                cell=planned.cell,
                factors=plan.cell(planned.cell).factors,
                started=now,
                status="failed",
                reason=reason,
            )
            self._keep(trial, plan, folder, set() if barred is None else barred)

    def _probe(self, bench: Bench, deployment: Deployment | None, plan: Plan) -> Bench:
        """Probes a deployment's first server; its later servers have the same configuration."""
        if deployment not in self._probed:
            cells = [cell for cell in plan.cells if cell.deployment == deployment]
            self._probed[deployment] = probe_cells(bench.engine, bench.aim, cells)
        return replace(bench, probed=self._probed[deployment])


def _bars(trial: Trial) -> bool:
    """Whether later trials of the cell are pointless after this trial."""
    lost = trial.reason is not None and trial.reason.class_ == SETUP_FAILED
    return trial.status == "unsupported" or lost
