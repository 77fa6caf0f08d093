"""The agenda of benchmarks: a plan in blocks, without a server."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby

from tlslab.domain import events
from tlslab.domain.plan import Plan, PlannedTrial
from tlslab.domain.trial import Reason, Trial
from tlslab.lab.benchmark.benchmark_trial import LASTING, Bench, run_trial
from tlslab.lab.conductor import Visit
from tlslab.lab.trial import failed_trial


class BenchmarkAgenda:
    """The missing trials of a plan.

    A cell that would fail in every block for the same reason is recorded once.
    """

    def __init__(self, plan: Plan, bench: Bench, observer: events.Observer) -> None:
        self.plan = plan
        self.bench = bench
        self.report = observer
        self.barred: set[str] = set()

    def visits(self, earlier: Sequence[Trial]) -> Iterator[Visit]:
        """The trials block by block."""
        done = {trial.trial for trial in earlier}
        self.barred = {trial.cell for trial in earlier if _lasts(trial)}
        missing = [planned for planned in self.plan.trials if planned.trial not in done]
        for _, block in groupby(missing, key=lambda planned: planned.block):
            todo = [planned for planned in block if planned.cell not in self.barred]
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
