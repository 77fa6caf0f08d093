"""Trials whose generator was the limit."""

from collections.abc import Collection
from dataclasses import replace

from factories.run import Change
from tlslab.model.record import CpuTime, WorkerUsage
from tlslab.model.trial import Trial


def saturated(groups: Collection[str]) -> Change:
    """Makes the generator of the trials of these groups busy all the time."""

    def change(trial: Trial) -> Trial:
        run = trial.runs.get("capacity")
        if run is None or trial.factors["group"] not in groups:
            return trial
        seconds = run.record.seconds
        busy = CpuTime(round(seconds * 6e5), round(seconds * 4e5))
        record = replace(run.record, workers=(WorkerUsage(1, busy, seconds),), cpu=busy)
        return replace(trial, runs={**trial.runs, "capacity": replace(run, record=record)})

    return change
