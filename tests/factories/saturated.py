"""Trials whose generator was the limit, or in which neither side was."""

from collections.abc import Collection
from dataclasses import replace

from factories.run import TrialChange
from tlslab.contract.record import CpuTime, WorkerUsage
from tlslab.domain.trial import Trial, TrialRun


def saturated(groups: Collection[str]) -> TrialChange:
    """Makes the generator of the trials of these groups busy all the time."""

    def change(trial: Trial) -> Trial:
        run = trial.runs.get("capacity")
        if run is None or trial.factors["group"] not in groups:
            return trial
        seconds = run.record.seconds
        busy = CpuTime(round(seconds * 6e5), round(seconds * 4e5))
        record = replace(run.record, workers=(WorkerUsage(busy, seconds, processor=1),), cpu=busy)
        return replace(trial, runs={**trial.runs, "capacity": replace(run, record=record)})

    return change


def idle(groups: Collection[str]) -> TrialChange:
    """Makes the server of the trials of these groups idle half of the time."""

    def change(trial: Trial) -> Trial:
        if trial.factors["group"] not in groups:
            return trial
        return replace(trial, runs={kind: _half_idle(run) for kind, run in trial.runs.items()})

    return change


def _half_idle(run: TrialRun) -> TrialRun:
    assert run.server is not None
    user_us, system_us = run.server.user_us // 2, run.server.system_us // 2
    first, *others = run.machine.per_processor
    machine = replace(run.machine, per_processor=(replace(first, busy=0.5), *others))
    server = replace(run.server, user_us=user_us, system_us=system_us)
    return replace(run, machine=machine, server=server)
