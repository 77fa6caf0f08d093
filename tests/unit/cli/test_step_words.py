"""The progress of a capacity experiment in words."""

import pytest

from factories.capacity import CapacityWorld, made_cell
from tlslab.cli.steps import begun_words, ended_words, time_left
from tlslab.domain.capacity import CapacityPlan, Objective, Step
from tlslab.domain.errors import UsageError
from tlslab.domain.events import Left
from tlslab.domain.workload import Window
from tlslab.experiment import file_kind, load

WINDOW = Window(100, 500)


def test_a_step_is_reported_with_what_is_left() -> None:
    step = Step("open_loop", 3, 0, 2000, WINDOW, rate=812, fraction=0.4)
    assert begun_words(step) == "open loop, 40 % of the maximum (812/s)"
    trial = CapacityWorld().trial(step, made_cell(), 7)
    reported = ended_words(trial, Left(8, 22, 75.0))
    assert reported.startswith("[8/30 at most] server=nginx,processors=1: open loop, 40 %")
    assert "812 connections/s, response p50" in reported
    assert time_left(Left(8, 22, 75.0)) == "1 min 15 s"
    failed = CapacityWorld(status=lambda step: "failed").trial(step, made_cell(), 7)
    assert "failed: server_died: the server died" in ended_words(failed, Left(8, 22, 75.0))


def test_options_of_capacity_experiments() -> None:
    capacity = load("capacity")
    kind = file_kind(capacity)
    plan = kind.with_objective(capacity, "mean<8ms", allow_obsolete=False).settings
    assert isinstance(plan, CapacityPlan)
    assert plan.objective == Objective("mean", 8)
    assert plan.obsolete is None
    assert kind.with_objective(capacity, None, allow_obsolete=True) == capacity
    groups = load("groups")
    with pytest.raises(UsageError, match="are for capacity experiments"):
        file_kind(groups).with_objective(groups, "p99<50ms", allow_obsolete=False)
