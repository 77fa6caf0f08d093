"""A trial during which processors of this machine went on- or offline."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from factories.run import made_run
from tlslab.contract.record import RunRecord
from tlslab.domain.capacity import Step, plan_of
from tlslab.domain.trial import Trial
from tlslab.experiment import load
from tlslab.lab.capacity.steps import run_step
from tlslab.lab.engine_output import Listener
from tlslab.lab.specs import Aim
from tlslab.lab.trial import Bench, run_trial

MADE = made_run(quick=True)


class Shrinking:
    """A pool of one generator; during its run a processor goes offline."""

    size = first = 1

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self._found = psutil.cpu_times(percpu=True)

    def run(
        self,
        spec: Mapping[str, Any],
        listener: Listener,
        trace: Path | None = None,
        most: int | None = None,
    ) -> RunRecord:
        self._patch.setattr(psutil, "cpu_times", lambda percpu: [*self._found, self._found[0]])
        listener({"event": "phase", "phase": "measure", "at_ns": 1})
        self._patch.setattr(psutil, "cpu_times", lambda percpu: self._found)
        listener({"event": "phase", "phase": "done", "at_ns": 2})
        return MADE.trials[0].runs["capacity"].record


def trial_of_cells(bench: Bench) -> Trial:
    planned = MADE.plan.trials[0]
    return run_trial(bench, planned, MADE.plan.cell(planned.cell), lambda kind, report: None)


def trial_of_steps(bench: Bench) -> Trial:
    step = Step("search", 0, 0, 8, plan_of(load("capacity")).search.window)
    return run_step(bench, step, MADE.plan.cells[0], 0, lambda report: None)


@pytest.mark.parametrize("make", [trial_of_cells, trial_of_steps])
def test_the_trial_has_failed_for_this_reason(
    make: Callable[[Bench], Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool: Any = Shrinking(monkeypatch)
    bench = Bench(pool, MADE.experiment.workload, Aim("https://127.0.0.1:1/"), None)
    trial = make(bench)
    assert (trial.status, trial.runs) == ("failed", {})
    assert trial.reason is not None
    assert trial.reason.class_ == "processors_changed"
    assert "went on or off during the measurement" in trial.reason.message
