"""The trials of a cell with their judgements and values, without estimates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from tlslab.analysis.compare import Measured
from tlslab.analysis.measures import Processors, trial_values
from tlslab.analysis.stats.machines import Block
from tlslab.analysis.validity import (
    TrialJudgement,
    judge_cell,
    judge_trial,
    lower_bounds,
    unsaturated,
)
from tlslab.contract.record import Facts
from tlslab.domain.finding import CellSummary
from tlslab.domain.plan import Cell
from tlslab.domain.run import RunContents
from tlslab.domain.trial import Trial


@dataclass(frozen=True)
class JudgedTrial:
    """A trial, its judgement (None if it was not done) and its values by estimate name.

    The values are empty if the trial has a fault.
    """

    trial: Trial
    judgement: TrialJudgement | None
    values: Mapping[str, float]

    @property
    def usable(self) -> bool:
        """Whether the values of the trial count."""
        return self.judgement is not None and not self.judgement.faults


@dataclass(frozen=True)
class JudgedCell:
    """A cell with all its trials; `machines`: the machine of each sitting."""

    cell: Cell
    trials: Sequence[JudgedTrial]
    machines: Mapping[int, int] = field(default_factory=dict)

    def up_to(self, block: int) -> "JudgedCell":
        """The cell with the trials of the blocks before this one."""
        return replace(self, trials=[each for each in self.trials if each.trial.block < block])

    @property
    def usable(self) -> list[Trial]:
        """The trials whose values count."""
        return [each.trial for each in self.trials if each.usable]

    def measured(self, planned: int, anytime: bool) -> Measured:
        """The cell's verdict and its values by block; `planned` trials were to be run."""
        judgements = [each.judgement for each in self.trials]
        verdict, reasons = judge_cell([each.trial for each in self.trials], judgements, planned)
        values: dict[str, dict[int, float]] = {}
        for each in self.trials:
            block = Block(each.trial.block, self.machines.get(each.trial.sitting, 0))
            for name, value in each.values.items():
                values.setdefault(name, {})[block] = value
        summary = CellSummary(
            key=self.cell.key,
            factors=dict(self.cell.factors),
            verdict=verdict,
            reasons=reasons,
            trials=len(self.usable),
            estimates={},
            lower_bounds=lower_bounds(judgements, values),
            unsaturated=unsaturated(judgements, values),
        )
        return Measured(summary, values, anytime)


def judged_cells(contents: RunContents) -> list[JudgedCell]:
    """All cells of a run's plan."""
    trials, machines = contents.by_cell, contents.environment.machines
    return [
        JudgedCell(cell, list(_judged(contents, cell, trials[cell.key])), machines)
        for cell in contents.plan.cells
    ]


def _judged(contents: RunContents, cell: Cell, trials: Sequence[Trial]) -> Iterable[JudgedTrial]:
    processors = Processors.of(contents.environment, cell.deployment)
    for trial in trials:
        judgement = judge_trial(trial, processors) if trial.status == "done" else None
        values: dict[str, float] = {}
        if judgement is not None and not judgement.faults:
            primitives = contents.environment.primitives_in(trial.sitting)
            values = trial_values(trial, processors, primitives)
        yield JudgedTrial(trial, judgement, values)


def backend(trials: Iterable[Trial]) -> str | None:
    """The client's TLS library; None without a run."""
    return next((run.record.backend for trial in trials for run in trial.runs.values()), None)


def negotiated(trials: Iterable[Trial]) -> Facts | None:
    """The facts that most connections of one kind negotiated; None without any."""
    runs = (run for trial in trials for run in trial.runs.values())
    counted = [facts for run in runs for facts in run.record.facts]
    if not counted:
        return None
    fields = asdict(max(counted, key=lambda facts: facts.count))
    del fields["count"]
    return Facts(**fields)
