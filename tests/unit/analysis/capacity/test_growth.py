"""Growth with processors by the server's time for a connection, at equal shares of the maxima."""

from dataclasses import replace
from functools import cache

import pytest

from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from factories.capacity_summary import stated
from factories.worded import summarise
from tlslab.analysis.capacity.growth import Growth, growths
from tlslab.analysis.capacity.summary import measured_cells
from tlslab.domain.estimate import Estimate
from tlslab.domain.run import RunContents
from tlslab.domain.trial import Trial
from tlslab.words.capacity import SENTENCES

THREE = made_plan(repetitions=3)


@cache
def run(alone: float = 1800.0) -> RunContents:
    """A server with one and two processors; its rate alone is 900/s with one."""
    worlds = {"nginx 1": CapacityWorld(), "nginx 2": CapacityWorld(alone=alone, seed=2)}
    return made_capacity_run(worlds, THREE)


@pytest.mark.parametrize(("alone", "linear"), [(1800.0, True), (1500.0, False)])
def test_growth_is_linear_if_a_connection_costs_the_same(alone: float, linear: bool) -> None:
    (values,) = stated(summarise(run(alone)), "growth")
    assert values["linear"] is linear
    assert values["ratio"].value == pytest.approx(1800 / alone, rel=0.01)
    assert values["ratio"].n == 3


def test_loads_that_a_server_did_not_keep_up_with_are_left_out() -> None:
    fewer, more = measured_cells(run(), THREE)
    (found,) = growths([fewer, more])
    assert found.loads == (0.2, 0.4, 0.6, 0.8, 1.0)
    missed = [
        replace(point, verdict="overloaded") if point.fraction == 1.0 else point
        for point in more.points
    ]
    (found,) = growths([fewer, replace(more, points=missed)])
    assert found.loads == (0.2, 0.4, 0.6, 0.8)


def test_a_server_whose_time_is_not_known_has_no_growth() -> None:
    def without(trial: Trial) -> Trial:
        return replace(trial, runs={k: replace(r, server=None) for k, r in trial.runs.items()})

    contents = replace(run(), trials=tuple(without(trial) for trial in run().trials))
    assert stated(summarise(contents), "growth") == []


def test_the_study_and_this_run_stand_side_by_side() -> None:
    (table,) = (table for table in summarise(run()).tables if table.id == "published")
    (row,) = (row for row in table.rows if "time for a connection" in str(row[0]))
    assert row[1] == "1 (linear)"


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.99, 1.03, "growth up to 2 processors is linear within 5 %, as far as processor time"),
        (1.06, 1.2, "growth up to 2 processors is not linear within 5 %"),
        (0.99, 1.06, "whether growth up to 2 processors is linear within 5 %, these runs cannot"),
    ],
)
def test_the_sentence_says_what_the_interval_carries(low: float, high: float, words: str) -> None:
    (found,) = growths(measured_cells(run(), THREE))
    ratio = Estimate(1.02, low, high, 3, "ratio", "made up")
    judged = Growth(found.fewer, found.more, found.loads, ratio)
    summary = summarise(run())
    values = {
        "ratio": ratio, "loads": judged.loads, "within": 0.05, "linear": judged.is_linear,
        "shared": True,
    }  # fmt: skip
    said = SENTENCES["growth"](values, (judged.fewer.key, judged.more.key), summary)
    assert words in said
    assert "The generator shared one of these processors" in said


def test_a_cell_alone_has_no_growth() -> None:
    contents = made_capacity_run({"nginx": CapacityWorld()}, THREE)
    assert stated(summarise(contents), "growth") == []
