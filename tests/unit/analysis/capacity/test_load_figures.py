"""Figures over the offered load show points that describe the server, and name the others."""

from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from factories.worded import summarise
from tlslab.contract.record import Verdict
from tlslab.domain.capacity import Step
from tlslab.domain.figure import Figure
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.domain.trial import TrialRun

FIVE = made_plan(repetitions=5)
LATE = (0.8, 1.0)
OVER_LOAD = ("achieved-nginx", "response-nginx", "overlay-1", "cpu-load")


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


@pytest.mark.parametrize("name", ["achieved-apache", "response-apache", "overlay-1", "cpu-load"])
def test_a_load_with_an_invalid_run_is_not_drawn(summary: Summary, name: str) -> None:
    found = figure(summary, name)
    drawn = [each for each in found.series if each.name.startswith("apache")]
    assert drawn
    assert {len(each.x) for each in drawn} == {4}
    assert found.caption.endswith(" Not drawn, since a run was invalid: apache at 40 %.")


def test_the_diagonal_ends_where_the_loads_end_that_are_drawn(summary: Summary) -> None:
    measured, diagonal = figure(summary, "achieved-nginx").series
    assert diagonal.x == (measured.x[0], measured.x[-1])


def test_the_table_has_all_loads_with_their_verdicts(summary: Summary) -> None:
    loads = next(each for each in summary.tables if each.id == "loads-0")
    assert [row[-1] for row in loads.rows][-2:] == ["generator late"] * 2
    assert len(loads.rows) == 5


def test_captions_of_whole_runs_name_nothing() -> None:
    summary = summarise(made_capacity_run({"nginx": CapacityWorld()}, FIVE))
    assert not any("Not drawn" in each.caption for each in summary.figures)


def test_without_any_load_of_the_server_there_is_no_such_figure() -> None:
    """Then the answer shows the maximum."""
    summary = summarise(made_capacity_run({"nginx": CapacityWorld(late_ms=500.0)}, FIVE))
    assert {each.id for each in summary.figures}.isdisjoint(OVER_LOAD)
    assert summary.answer is not None
    assert summary.answer.figure == "maximum"
