"""The agenda of a plan in blocks, and its end: nothing is open any more, or the time is over.

Each deployment of a block gets a fresh server; a server that gets slower while it runs is restarted
for each trial.

A trial in which one side did not get its processors is set aside and measured again at once, up to
ATTEMPTS times, while no more than REPEATED of the plan's trials were (ADR 0099).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Protocol

from tlslab.analysis import open_cells as rule
from tlslab.analysis.measures import Processors
from tlslab.analysis.pilot import Pilot, pilot
from tlslab.analysis.validity import disturbed
from tlslab.domain import events
from tlslab.domain.deployment import Deployment
from tlslab.domain.events import EngineReport
from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Cell, Plan, PlannedTrial
from tlslab.domain.run import Environment, RunContents
from tlslab.domain.stopping import SHORTEST, Forecast, Stopping
from tlslab.domain.trial import Reason, RunKind, Trial
from tlslab.domain.wording import counted
from tlslab.lab.conductor import Visit
from tlslab.lab.deployments import Servers
from tlslab.lab.serving import SETUP_FAILED, Benches
from tlslab.lab.sittings import OtherMachines
from tlslab.lab.trial import SERVER_DIED, Bench, failed_trial, warm_up


class Ending(Protocol):
    """The rule that ends a run before all of its blocks are done."""

    def cells(self, trials: Sequence[Trial], block: int) -> frozenset[str]:
        """The keys of the cells for a block, from the trials before it."""

    def length(self, trials: Sequence[Trial], planned: PlannedTrial) -> float:
        """The share of the full windows for a trial, from the trials before it."""

    def forecast(self, trials: Sequence[Trial], block: int) -> Forecast | None:
        """The forecast of the run, before the first block for which it is known; else None."""

    def reason(self, block: int) -> str:
        """The reason that the other cells are left out of the block, in words."""


ATTEMPTS = 3
REPEATED = 0.25


RunTrial = Callable[[Bench, PlannedTrial, Cell, Callable[[RunKind, EngineReport], None]], Trial]


def sharing(
    trials: Sequence[PlannedTrial], plan: Plan, servers: Servers
) -> Iterator[list[PlannedTrial]]:
    """The trials in their order, grouped by the start of a server that they share."""
    cells = {cell.key: cell for cell in plan.cells}

    def server_of(planned: PlannedTrial) -> tuple[int, Deployment | None, int | None]:
        cell = cells[planned.cell]
        own = planned.trial if servers.of(cell).info.fresh_per_trial else None
        return planned.block, cell.deployment, own

    for _, group in groupby(trials, key=server_of):
        yield list(group)


class BlocksAgenda:
    """The missing trials of a plan; `run` makes a trial of a cell.

    A cell that its server does not support, or whose server cannot be set up, is recorded once. If
    a server dies, the trial has failed, and the later trials of the block on this server are left
    out; the next block has a fresh server.
    """

    def __init__(
        self,
        plan: Plan,
        benches: Benches,
        observer: events.Observer,
        run: RunTrial,
        environment: Environment,
        ending: Ending | None = None,
    ) -> None:
        self.plan = plan
        self.benches = benches
        self.report = observer
        self.run = run
        self._environment = environment
        self._ending = ending
        self._repeats = max(1, int(REPEATED * len(plan.trials)))
        self._barred: set[str] = set()
        self._settled: set[str] = set()
        self._trials: list[Trial] = []

    def visits(self, earlier: Sequence[Trial]) -> Iterator[Visit]:
        """The trials that share a start of a server, in the plan's order.

        Before each block, `ending` selects its cells and, after the pilot, forecasts the run.
        """
        self._trials = list(earlier)
        self._repeats -= sum(trial.attempts - 1 for trial in earlier)
        done = {trial.trial for trial in earlier}
        others = OtherMachines(self._environment, earlier)
        self._bar()
        for block, trials in groupby(self.plan.trials, key=lambda planned: planned.block):
            planned = list(trials)
            missing = self._open(block, [each for each in planned if each.trial not in done])
            if others.made(block):
                if not (missing and others.may_begin_again(block)):
                    continue
                self._trials = [trial for trial in self._trials if trial.block != block]
                self._bar()
                missing = self._open(block, planned)
            for group in sharing(missing, self.plan, self.benches.servers):
                todo = [planned for planned in group if planned.cell not in self._barred]
                if todo:
                    yield BlockVisit(self, todo)

    def _bar(self) -> None:
        """Bars the cells that need not be tried again."""
        self._barred = {trial.cell for trial in self._trials if _bars(trial, self._trials)}

    def _open(self, block: int, planned: Sequence[PlannedTrial]) -> list[PlannedTrial]:
        """Those of a block's trials that are to be made."""
        wanted = list(planned)
        if self._ending is not None:
            wanted = self._wanted(self._ending, block, planned)
        return [each for each in wanted if each.cell not in self._barred]

    def _wanted(
        self, ending: Ending, block: int, missing: Sequence[PlannedTrial]
    ) -> list[PlannedTrial]:
        """The trials of a block whose cells continue.

        Reports the trials of cells that have left.
        """
        cells = ending.cells(self._trials, block)
        if cells and (forecast := ending.forecast(self._trials, block)) is not None:
            self.report(events.Forecasted(forecast))
        leaving = {each.cell for each in missing} - cells - self._barred - self._settled
        if leaving:
            self._settled |= leaving
            later = sum(p.cell in leaving and p.block >= block for p in self.plan.trials)
            self.report(events.Skipped(later, ending.reason(block)))
        return [planned for planned in missing if planned.cell in cells]

    def length(self, planned: PlannedTrial) -> float:
        """The share of the full windows for a trial."""
        return 1.0 if self._ending is None else self._ending.length(self._trials, planned)

    def repeats(self, trial: Trial) -> bool:
        """Whether a trial is to be measured again; counts it."""
        deployment = self.plan.cell(trial.cell).deployment
        processors = Processors.of(self._environment, deployment)
        again = self._repeats > 0 and disturbed(trial, processors)
        self._repeats -= again
        return again

    def kept(self, trial: Trial) -> None:
        """Leaves out the trials that this trial makes unnecessary."""
        self._trials.append(trial)
        self.report(events.TrialEnded(trial))
        if _bars(trial, self._trials):
            self._barred.add(trial.cell)
            later = sum(p.cell == trial.cell and p.block > trial.block for p in self.plan.trials)
            why = "is unsupported" if trial.status == "unsupported" else "has no server"
            self.report(events.Skipped(later, f"{trial.cell} {why}"))


class BlockVisit:
    """Trials of one block on one server."""

    def __init__(self, agenda: BlocksAgenda, todo: Sequence[PlannedTrial]) -> None:
        self._agenda = agenda
        self._plan = agenda.plan
        self._todo = todo

    @property
    def block(self) -> int:
        """The block of the trials."""
        return self._todo[0].block

    def goes_on(self, trial: Trial) -> bool:
        """Whether another trial follows this one."""
        return trial.trial != self._todo[-1].trial

    @contextmanager
    def bench(self) -> Iterator[Bench]:
        """A fresh server, warmed up if necessary."""
        benches, first = self._agenda.benches, self._plan.cell(self._todo[0].cell)
        prepared = benches.servers.of(first)
        with benches.on(prepared, first.deployment, self._plan.cells) as bench:
            self._agenda.report(events.BlockStarted(self._todo[0].block))
            self._warm_up(bench, prepared.info.warm_up_ms)
            yield bench

    def _warm_up(self, bench: Bench, length_ms: int) -> None:
        """The load of one cell that the server supports, if its kind needs a warm-up."""
        cells = [self._plan.cell(planned.cell) for planned in self._todo]
        able = [cell for cell in cells if cell.key not in bench.probed.refused]
        if length_ms and able:
            key = able[0].key
            warm_up(
                bench,
                able[0],
                length_ms,
                lambda report: self._agenda.report(events.of_run(key, "capacity", report)),
            )

    def trials(self, bench: Bench) -> Iterator[Trial]:
        """Runs the trials one after the other, until the server dies."""
        report = self._agenda.report
        for number, planned in enumerate(self._todo, start=1):
            report(events.TrialStarted(planned.block, planned.cell))
            attempts, trial = 1, self._run(bench, planned)
            while attempts < ATTEMPTS and self._agenda.repeats(trial):
                yield replace(trial, attempts=attempts, set_aside=True)
                report(events.Repeated(planned.cell))
                attempts, trial = attempts + 1, self._run(bench, planned)
            trial = replace(trial, attempts=attempts)
            yield trial
            if trial.reason is not None and trial.reason.class_ == SERVER_DIED:
                rest = len(self._todo) - number
                report(events.Skipped(rest, f"the server died in block {planned.block + 1}"))
                return

    def _run(self, bench: Bench, planned: PlannedTrial) -> Trial:
        def on_report(kind: RunKind, report: EngineReport) -> None:
            self._agenda.report(events.of_run(planned.cell, kind, report))

        share = self._agenda.length(planned)
        fitted = replace(bench, workload=bench.workload.shortened(share)) if share < 1 else bench
        return self._agenda.run(fitted, planned, self._plan.cell(planned.cell), on_report)

    def failed(self, reason: Reason) -> Iterator[Trial]:
        """Each trial of the visit, as failed."""
        for planned in self._todo:
            yield failed_trial(planned, self._plan.cell(planned.cell), reason)


def _bars(trial: Trial, trials: Iterable[Trial]) -> bool:
    """Whether the cell need not be tried again after this one of all `trials`.

    A cell with a trial that was done is supported: a later refusal may be an incident.
    """
    if trial.status == "unsupported":
        return not any(each.cell == trial.cell and each.status == "done" for each in trials)
    return trial.reason is not None and trial.reason.class_ == SETUP_FAILED


# The cells that are still open after a block, by the rule of a kind of experiment.
StillOpen = Callable[[RunContents, Stopping, int], frozenset[str]]


@dataclass
class SettledOrOver:
    """Applies the rule of the analysis before each block, and keeps to the time budget.

    `contents` makes a run from its trials. A block starts only if, at the mean length of the trials
    so far, it ends within the budget; the first blocks are always run. `still_open` is the rule of
    the kind of experiment.
    """

    stopping: Stopping
    plan: Plan
    contents: Callable[[Sequence[Trial]], RunContents]
    now: Callable[[], float] = time.monotonic
    still_open: StillOpen = rule.still_open
    _begun: float | None = field(default=None, init=False)
    _here: int = field(default=0, init=False)
    _over: bool = field(default=False, init=False)
    _pilot: Pilot | None = field(default=None, init=False)
    _forecast: bool = field(default=False, init=False)

    def cells(self, trials: Sequence[Trial], block: int) -> frozenset[str]:
        """The cells of the block."""
        if self._begun is None:
            self._begun, self._here = self.now(), len(trials)
        going = self.still_open(self.contents(trials), self.stopping, block)
        if block >= self.stopping.at_least and going and self._too_long(trials, len(going)):
            self._over = True
        return frozenset() if self._over else going

    def length(self, trials: Sequence[Trial], planned: PlannedTrial) -> float:
        """The share of its windows for a trial: short in the pilot, later as the pilot showed."""
        if not self.stopping.pilot:
            return 1.0
        if planned.block < self.stopping.pilot:
            return SHORTEST
        found = self._shown(trials)
        return 1.0 if found is None else found.shares().get(planned.cell, 1.0)

    def forecast(self, trials: Sequence[Trial], block: int) -> Forecast | None:
        """The forecast of the run, once: before the first block after the pilot."""
        if self._forecast or not self.stopping.pilot or block < self.stopping.pilot:
            return None
        self._forecast = True
        found = self._shown(trials)
        return None if found is None else found.forecast(block, self.plan.blocks)

    def _shown(self, trials: Sequence[Trial]) -> Pilot | None:
        """The result of the pilot; later trials do not change it."""
        if self._pilot is None:
            experiment = self.contents(()).experiment
            self._pilot = pilot(
                trials, self.stopping, experiment.workload, self.plan, experiment.baseline
            )
        return self._pilot

    def reason(self, block: int) -> str:
        """The reason that the other cells are left out of the block."""
        if self._over:
            return f"the time is over after {counted(block, 'block')}"
        return f"settled after {counted(block, 'block')}"

    def _too_long(self, trials: Sequence[Trial], cells: int) -> bool:
        budget, done = self.stopping.budget_s, len(trials) - self._here
        if budget is None or self._begun is None or done <= 0:
            return False
        passed = self.now() - self._begun
        return passed + cells * passed / done > budget


def ending_of(
    experiment: Experiment,
    plan: Plan,
    environment: Environment,
    still_open: StillOpen = rule.still_open,
) -> SettledOrOver | None:
    """The rule by which the run may end early; None if it makes all its blocks."""
    if experiment.stopping is None:
        return None

    def contents(trials: Sequence[Trial]) -> RunContents:
        return RunContents(experiment, plan, environment, tuple(trials))

    return SettledOrOver(experiment.stopping, plan, contents, still_open=still_open)
