"""Columns that several tables share: the trial, its factors, the runs of the engine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tlslab.analysis.frames.frame import Column, Field, field
from tlslab.domain.run import RunContents
from tlslab.domain.trial import Trial, TrialRun


class OfTrial(Protocol):
    """A row that belongs to a trial."""

    @property
    def trial(self) -> Trial:
        """The trial."""


@dataclass(frozen=True)
class EngineRun:
    """A run of the engine, with the trial that it belongs to and its name there."""

    trial: Trial
    kind: str
    run: TrialRun


def engine_runs(contents: RunContents) -> Iterator[EngineRun]:
    """All runs of the engine in all trials, in the order of the trials."""
    for trial in contents.trials:
        for kind, run in trial.runs.items():
            yield EngineRun(trial, kind, run)


def trial_fields(trials: Sequence[Trial]) -> list[Field[OfTrial]]:
    """Number, block and cell of a row's trial, and a column for each factor."""

    def factor(name: str) -> Field[OfTrial]:
        about = f"level of the factor {name}"
        return Field(Column(name, "text", "", about), lambda row: row.trial.factors.get(name))

    names = dict.fromkeys(name for trial in trials for name in trial.factors)
    return [
        field("trial", "integer", "", "number in the plan", lambda row: row.trial.trial),
        field("block", "integer", "", "pass over all cells", lambda row: row.trial.block),
        field("cell", "text", "", "key of the cell", lambda row: row.trial.cell),
        *(factor(name) for name in names),
    ]


def run_fields(contents: RunContents) -> list[Field[EngineRun]]:
    """The fields of the trial, and the run's name in it."""
    about = "the run's purpose: capacity, client_cost, keep_alive, maximum, load, ..."
    return [
        *trial_fields(contents.trials),
        field("run", "text", "", about, lambda row: row.kind),
    ]
