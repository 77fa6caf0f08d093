"""A trial that lost a generator, or a processor, has failed; the measurement until then is kept."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from factories.capacity import made_by
from factories.run import made_run
from tlslab.contract.record import RunRecord
from tlslab.domain.capacity import Step, plan_of
from tlslab.domain.errors import EngineError
from tlslab.domain.run_faults import host_was_lost, usable
from tlslab.domain.trial import Trial
from tlslab.experiment import dumps, load
from tlslab.lab.capacity.steps import run_step
from tlslab.lab.engine_output import Listener
from tlslab.lab.generators.pool import LostInRunError
from tlslab.lab.specs import Aim
from tlslab.lab.store import RunFolder
from tlslab.lab.trial import Bench, run_trial

MADE = made_run(quick=True)
RECORD = made_by(MADE.trials[0].runs["capacity"].record, 2, is_lost=True)


class Losing:
    """A pool of two generators that loses one of them in each run."""

    size = first = 2

    def __init__(self, record: RunRecord | None, phases: tuple[str, ...]) -> None:
        self._record = record
        self._phases = phases

    def run(
        self,
        spec: Mapping[str, Any],
        listener: Listener,
        trace: Path | None = None,
        most: int | None = None,
    ) -> RunRecord:
        for phase in self._phases:
            listener({"event": "phase", "phase": phase, "at_ns": 1})
        error = EngineError("host_lost", "the generator b was lost: it died", "see that it runs")
        raise LostInRunError(error, self._record)


def trial_of_cells(bench: Bench) -> Trial:
    planned = MADE.plan.trials[0]
    return run_trial(bench, planned, MADE.plan.cell(planned.cell), lambda kind, report: None)


def trial_of_steps(bench: Bench) -> Trial:
    step = Step("search", 0, 0, 8, plan_of(load("capacity")).search.window)
    return run_step(bench, step, MADE.plan.cells[0], 0, lambda report: None)


MAKERS = [trial_of_cells, trial_of_steps]


def bench(record: RunRecord | None, *phases: str) -> Bench:
    pool: Any = Losing(record, phases)
    return Bench(pool, MADE.experiment.workload, Aim("https://127.0.0.1:1/"), None)


@pytest.mark.parametrize("make", MAKERS)
def test_a_failed_trial_keeps_its_measurements_which_count_for_nothing(
    make: Callable[[Bench], Trial], tmp_path: Path
) -> None:
    trial = make(bench(RECORD, "measure", "drain"))
    assert trial.status == "failed"
    assert trial.reason is not None
    assert trial.reason.class_ == "host_lost"
    ((kind, run),) = trial.runs.items()
    assert run.record == RECORD
    assert host_was_lost(trial)
    assert not usable(trial, kind)
    folder = RunFolder.create(tmp_path / "r", dumps(MADE.experiment), MADE.plan, MADE.environment)
    folder.append(trial)
    assert folder.trials()[0].runs[kind].record == RECORD


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("lost", [(None, "measure", "drain"), (RECORD,), (RECORD, "measure")])
def test_where_nothing_was_measured_there_is_no_run(
    make: Callable[[Bench], Trial], lost: tuple[Any, ...]
) -> None:
    trial = make(bench(*lost))
    assert trial.reason is not None
    assert (trial.status, trial.reason.class_, trial.runs) == ("failed", "host_lost", {})


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


@pytest.mark.parametrize("make", MAKERS)
def test_processors_that_go_on_or_off_fail_the_trial(
    make: Callable[[Bench], Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool: Any = Shrinking(monkeypatch)
    trial = make(Bench(pool, MADE.experiment.workload, Aim("https://127.0.0.1:1/"), None))
    assert (trial.status, trial.runs) == ("failed", {})
    assert trial.reason is not None
    assert trial.reason.class_ == "processors_changed"
