"""Every run of a trial whose values are used is judged."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, drive, made_cell, made_plan
from factories.run import made_run
from tlslab.analysis.capacity.capacity_cell import measure
from tlslab.analysis.steadiness import labels, notes, unsteady
from tlslab.contract.record import CpuTime, Interval
from tlslab.domain.trial import RunKind, Trial
from tlslab.domain.workload import KeepAlive, Window
from tlslab.experiment import load


def halved(slices: Sequence[Interval]) -> tuple[Interval, ...]:
    """The second half with half of the connections and of the processor time."""
    half = len(slices) // 2
    slow = [
        replace(
            each,
            completed=each.completed // 2,
            cpu=CpuTime(each.cpu.user_us // 2, each.cpu.system_us // 2),
        )
        for each in slices[half:]
    ]
    return (*slices[:half], *slow)


def falling(trial: Trial, kind: RunKind) -> Trial:
    run = trial.runs[kind]
    record = replace(run.record, intervals=halved(run.record.intervals * 5))
    return replace(trial, runs={**trial.runs, kind: replace(run, record=record)})


def one_trial() -> Trial:
    quick = load("groups", "quick")
    workload = replace(quick.workload, keep_alive=KeepAlive(Window(100, 500), 128))
    return made_run(experiment=replace(quick, workload=workload)).trials[0]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("capacity", "slowdown"),
        ("client_cost", "client_cost_slowdown"),
        ("keep_alive", "keep_alive_slowdown"),
    ],
)
def test_each_run_is_judged(kind: RunKind, code: str) -> None:
    found = labels(falling(one_trial(), kind).runs)
    assert found[kind] == "slowdown"
    assert unsteady(found)
    (note,) = notes([found])
    assert note.code == code
    (note,) = notes([found, {}])
    assert note.values == {"in": 1, "of": 2}


def test_a_trial_in_steady_state_has_no_note() -> None:
    found = labels(one_trial().runs)
    assert not unsteady(found)
    assert notes([found]) == ()


def test_the_runs_of_a_maximum_are_judged() -> None:
    plan, cell = made_plan(), made_cell()
    trials = drive(plan, CapacityWorld(), cell)
    changed = [falling(t, "maximum") if "maximum" in t.runs else t for t in trials]
    where = made_run(quick=True).environment
    assert [n.code for n in measure(cell, trials, plan, where).summary.reasons] == []
    codes = [n.code for n in measure(cell, changed, plan, where).summary.reasons]
    assert codes == ["maximum_slowdown"]


def in_step(rounds: int, slices: int, rate: float | None = None) -> Trial:
    """All 1,000 connections in flight end in one slice of each round, which has `slices`."""
    trial = one_trial()
    run = trial.runs["capacity"]
    counts = ([1000] + [0] * (slices - 1)) * rounds
    intervals = [Interval(0.1 * n, 0.1, each, 0, CpuTime(1, 1)) for n, each in enumerate(counts)]
    spec = {**run.record.spec, "connections": 1000, "load": {"rate": rate}}
    record = replace(run.record, intervals=tuple(intervals), spec=spec)
    return replace(trial, runs={"capacity": replace(run, record=record)})


def test_connections_that_go_in_step_are_judged_by_their_rounds() -> None:
    assert labels(in_step(25, 16).runs) == {"capacity": "flat"}
    # With fewer rounds a server that stops for a while looks the same.
    few = in_step(12, 16).runs["capacity"]
    assert labels({"capacity": few}) == {"capacity": "unstable"}
    assert labels({"client_cost": few}) == {"client_cost": "too_short"}
    # In an open loop connections do not wait for one another.
    assert labels(in_step(25, 16, rate=600.0).runs) == {"capacity": "unstable"}


def test_rounds_that_become_longer_are_no_steady_rate() -> None:
    first, second = in_step(30, 8), in_step(15, 16)
    run = first.runs["capacity"]
    both = run.record.intervals + second.runs["capacity"].record.intervals
    record = replace(run.record, intervals=both)
    assert labels({"capacity": replace(run, record=record)}) == {"capacity": "slowdown"}
