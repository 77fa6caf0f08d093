"""Figures over the offered load: runs as points, the overload, means of loads of the server."""

from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from factories.worded import summarise
from tlslab.contract.record import Verdict
from tlslab.domain.capacity import Objective, Step
from tlslab.domain.figure import Figure
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.domain.trial import TrialRun

FIVE = made_plan(repetitions=5)
LATE = (0.8, 1.0)
# Those with a point for each run, and those with a mean for each load.
BY_RUN = ("achieved-nginx", "response-nginx")
OVER_LOAD = ("overlay-1", "cpu-load")


class LateAbove(CapacityWorld):
    """The generator is late at the two highest loads."""

    def _run(self, step: Step) -> TrialRun:
        self.late_ms = 500.0 if step.fraction in LATE else 0.01
        return super()._run(step)


def interrupted(contents: RunContents, server: str, fraction: float) -> RunContents:
    """A run whose first open loop at a load is interrupted, and hence invalid."""
    trials = list(contents.trials)
    at = next(
        number
        for number, trial in enumerate(trials)
        if trial.factors["server"] == server and float(trial.factors.get("fraction", 0)) == fraction
    )
    run = trials[at].runs["load"]
    record = replace(run.record, verdicts=(Verdict("interrupted", "by a signal"),))
    trials[at] = replace(trials[at], runs={"load": replace(run, record=record)})
    return replace(contents, trials=tuple(trials))


@pytest.fixture(name="summary", scope="module")
def _summary() -> Summary:
    worlds = {"nginx": LateAbove(), "apache": CapacityWorld(alone=700.0, seed=3)}
    return summarise(interrupted(made_capacity_run(worlds, FIVE), "apache", 0.4))


def figure(summary: Summary, name: str) -> Figure:
    return next(each for each in summary.figures if each.id == name)


@pytest.mark.parametrize("name", OVER_LOAD)
def test_loads_at_which_the_generator_was_late_are_not_drawn(summary: Summary, name: str) -> None:
    cell = summary.cell("server=nginx,processors=1")
    highest = 0.7 * cell.estimates["connections_per_s"].value
    found = figure(summary, name)
    drawn = [each for each in found.series if each.name.startswith("nginx")]
    assert drawn
    for each in drawn:
        assert len(each.x) == 3
        assert max(map(float, each.x)) <= highest
    assert " Not drawn, since the generator was late: nginx at 80 % and 100 %." in found.caption


@pytest.mark.parametrize("name", OVER_LOAD)
def test_a_load_with_an_invalid_run_is_not_drawn(summary: Summary, name: str) -> None:
    found = figure(summary, name)
    drawn = [each for each in found.series if each.name.startswith("apache")]
    assert drawn
    assert {len(each.x) for each in drawn} == {4}
    assert found.caption.endswith(" Not drawn, since a run was invalid: apache at 40 %.")


@pytest.mark.parametrize("name", BY_RUN)
def test_each_run_is_a_point_and_those_that_are_not_the_servers_are_hollow(
    summary: Summary, name: str
) -> None:
    cell = summary.cell("server=nginx,processors=1")
    highest = 0.7 * cell.estimates["connections_per_s"].value
    series = [each for each in figure(summary, name).series if not each.dashed]
    filled = [each for each in series if not each.hollow]
    hollow = [each for each in series if each.hollow]
    assert [each.name for each in filled] == [each.name for each in hollow]
    assert {len(each.x) for each in filled} == {3 * 5}
    assert {len(each.x) for each in hollow} == {2 * 5}
    assert max(float(x) for each in filled for x in each.x) < highest
    assert not any(each.low or each.samples for each in series)
    assert {each.hollow for each in hollow} == {"generator late, or run invalid"}


@pytest.mark.parametrize("kind", ["achieved", "response"])
def test_an_invalid_run_is_hollow_alone(summary: Summary, kind: str) -> None:
    series = [each for each in figure(summary, f"{kind}-apache").series if not each.dashed]
    assert [len(each.x) for each in series if each.hollow] == [1] * (len(series) // 2)


def test_the_diagonal_ends_where_the_loads_end(summary: Summary) -> None:
    *measured, diagonal = figure(summary, "achieved-nginx").series
    loads = [float(x) for each in measured for x in each.x]
    assert diagonal.x == diagonal.y == (min(loads), max(loads))


class OverloadedAbove(CapacityWorld):
    """Connections fail at the two highest loads."""

    def _run(self, step: Step) -> TrialRun:
        run = super()._run(step)
        if step.fraction not in LATE:
            return run
        known = run.record.outcomes
        outcomes = replace(known, attempts=known.attempts + 50, failed={"reset": 50})
        return replace(run, record=replace(run.record, outcomes=outcomes))


@pytest.mark.parametrize(
    ("world", "objective", "label"),
    [
        (CapacityWorld(), None, ""),
        (CapacityWorld(), Objective("p99", 0.5), "overload (misses p99<0.5ms)"),
    ],
)
def test_what_lies_above_the_first_missed_load_is_shaded(
    world: CapacityWorld, objective: Objective | None, label: str
) -> None:
    plan = made_plan(objective=objective, repetitions=5)
    plan = replace(plan, open_loop=replace(plan.open_loop, fractions=(0.2, 0.4)))
    summary = summarise(made_capacity_run({"nginx": world}, plan))
    for name in BY_RUN:
        found = figure(summary, name.removesuffix("-nginx"))
        shaded = [mark for mark in found.marks if mark.onward]
        assert [mark.label for mark in shaded] == ([label] if label else [])
        assert found.caption.count("Shaded: from the first load that was not carried") == 1
        loads = [float(x) for each in found.series for x in each.x]
        assert [mark.x for mark in shaded] == ([min(loads)] if label else [])


def test_a_load_that_was_not_carried_is_overload_without_an_objective() -> None:
    summary = summarise(made_capacity_run({"nginx": OverloadedAbove()}, FIVE))
    for name in BY_RUN:
        (mark,) = figure(summary, name.removesuffix("-nginx")).marks
        assert (mark.label, mark.onward) == ("overload (not carried)", True)
        maximum = summary.cells[0].estimates["connections_per_s"].value
        assert 0.75 * maximum < mark.x < 0.85 * maximum


def test_the_table_has_all_loads_with_their_verdicts(summary: Summary) -> None:
    loads = next(each for each in summary.tables if each.id == "loads-0")
    assert [row[-1] for row in loads.rows][-2:] == ["generator late"] * 2
    assert len(loads.rows) == 5


def test_captions_of_whole_runs_name_nothing() -> None:
    summary = summarise(made_capacity_run({"nginx": CapacityWorld()}, FIVE))
    assert not any("Not drawn" in each.caption for each in summary.figures)


def test_without_any_load_of_the_server_there_are_hollow_points_alone() -> None:
    summary = summarise(made_capacity_run({"nginx": CapacityWorld(late_ms=500.0)}, FIVE))
    assert {each.id for each in summary.figures}.isdisjoint(OVER_LOAD)
    for name in BY_RUN:
        assert all(
            each.hollow or each.dashed
            for each in figure(summary, name.removesuffix("-nginx")).series
        )
