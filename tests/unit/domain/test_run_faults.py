"""The faults that make a run's numbers unusable."""

from dataclasses import replace

from factories.capacity import CapacityWorld, made_cell
from tlslab.contract.record import Verdict
from tlslab.domain.capacity import Step
from tlslab.domain.run_faults import run_faults, usable
from tlslab.domain.workload import Window


def test_a_run_whose_server_left_connections_without_an_answer_is_not_usable() -> None:
    """Such connections are neither completed nor failed: no count shows them."""
    step = Step("maximum", 0, 0, 8, Window(0, 1000))
    trial = CapacityWorld().trial(step, made_cell(), 0)
    run = trial.runs["maximum"]
    assert usable(trial, "maximum")
    record = replace(run.record, verdicts=(Verdict("stalled", "the server stopped answering"),))
    (fault,) = run_faults("maximum", record)
    values = {"run": "maximum", "message": "the server stopped answering"}
    assert (fault.code, fault.values) == ("stalled", values)
    stalled = replace(trial, runs={"maximum": replace(run, record=record)})
    assert not usable(stalled, "maximum")
