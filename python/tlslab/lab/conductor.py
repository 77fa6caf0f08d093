"""Runs a plan: block by block, a fresh server for each, every finished trial kept at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby

from tlslab.lab import events
from tlslab.lab.engine import Engine
from tlslab.lab.probing import probe_cells
from tlslab.lab.specs import Aim
from tlslab.lab.trial import SERVER_DIED, Bench, run_trial
from tlslab.model.plan import Plan, PlannedTrial
from tlslab.model.probe import Probed
from tlslab.model.record import Trial
from tlslab.model.workload import Workload
from tlslab.store import RunFolder
from tlslab.targets import Running


class Conductor:
    """Carries out what is missing of a plan.

    `start` starts a fresh server; it is None for a server that the lab does not manage.
    """

    def __init__(
        self,
        engine: Engine,
        workload: Workload,
        aim: Aim,
        start: Callable[[], Running] | None,
        observer: events.Observer,
    ) -> None:
        self._engine = engine
        self._workload = workload
        self._aim = aim
        self._start = start
        self._tell = observer
        self._probed: Probed | None = None

    def carry_out(self, plan: Plan, folder: RunFolder) -> None:
        """Runs the trials that the folder does not hold yet. Raises StoreError, CannotRunError.

        A cell that the server cannot do is recorded once. When the server dies, the trial has
        failed and the rest of its block is left out; the next block has a fresh server.
        """
        earlier = folder.trials()
        done = {trial.trial for trial in earlier}
        barred = {trial.cell for trial in earlier if trial.status == "unsupported"}
        missing = [planned for planned in plan.trials if planned.trial not in done]
        for block, group in groupby(missing, key=lambda planned: planned.block):
            todo = [planned for planned in group if planned.cell not in barred]
            if todo:
                self._run_block(block, todo, plan, folder, barred)

    def _run_block(
        self,
        block: int,
        todo: list[PlannedTrial],
        plan: Plan,
        folder: RunFolder,
        barred: set[str],
    ) -> None:
        with self._server() as bench:
            self._tell(events.BlockBegun(block))
            bench = self._probe(bench, plan)
            for number, planned in enumerate(todo, start=1):
                trial = self._run_one(bench, planned, plan)
                folder.append(trial)
                self._tell(events.TrialEnded(trial))
                if trial.status == "unsupported":
                    barred.add(trial.cell)
                    later = sum(p.cell == trial.cell and p.block > block for p in plan.trials)
                    self._tell(events.Skipped(later, f"{trial.cell} is unsupported"))
                if trial.reason is not None and trial.reason.class_ == SERVER_DIED:
                    rest = len(todo) - number
                    self._tell(events.Skipped(rest, f"the server died in block {block + 1}"))
                    return

    def _run_one(self, bench: Bench, planned: PlannedTrial, plan: Plan) -> Trial:
        self._tell(events.TrialBegun(planned.block, planned.cell))
        return run_trial(
            bench,
            planned,
            plan.cell(planned.cell),
            lambda kind, rate: self._tell(events.Rate(planned.cell, kind, rate)),
        )

    def _probe(self, bench: Bench, plan: Plan) -> Bench:
        """Asks the first server what it accepts; the others are configured alike."""
        if self._probed is None:
            self._probed = probe_cells(bench.engine, bench.aim, plan.cells)
        return replace(bench, probed=self._probed)

    @contextmanager
    def _server(self) -> Iterator[Bench]:
        """A bench with a fresh server, which is stopped whatever happens."""
        if self._start is None:
            yield Bench(self._engine, self._workload, self._aim, None)
            return
        running = self._start()
        try:
            aim = replace(self._aim, url=running.url)
            yield Bench(self._engine, self._workload, aim, running)
        finally:
            running.stop()
