"""The load that meets the objective, as a share of the maximum: its interval and its bounds."""

import re
from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, drive, made_capacity_run, made_cell, made_plan
from factories.worded import summarise
from tlslab.analysis.capacity.capacity_cell import CapacityCell, measure
from tlslab.analysis.capacity.openness import UNSTEADY
from tlslab.analysis.capacity.saturation import Bound, Capacity
from tlslab.analysis.capacity.share import of_maximum, share_cell, share_of_maximum
from tlslab.domain.capacity import Objective
from tlslab.domain.estimate import Estimate
from tlslab.domain.loads import Load

PLAN = made_plan(objective=Objective("p99", 5.0), repetitions=5)

MAXIMUM = Estimate(2000.0, 1900.0, 2100.0, 5, "1/s", "")
WITHIN = Estimate(1000.0, None, None, 5, "1/s", "")
ABOVE = Load(0.525, 1050.0, 2, 4.0, "met")


@pytest.fixture(name="measured", scope="module")
def _measured() -> CapacityCell:
    cell = made_cell()
    where = made_capacity_run({"nginx": CapacityWorld()}, PLAN).environment
    found = measure(cell, drive(PLAN, CapacityWorld(), cell), PLAN, where)
    estimates = {**found.summary.estimates, "connections_per_s": MAXIMUM}
    return replace(found, summary=replace(found.summary, estimates=estimates))


def meeting(cell: CapacityCell, load: Estimate, bound: Bound = "between") -> CapacityCell:
    """A cell whose objective is met up to this load."""
    return replace(cell, capacity=Capacity(load, bound, 5, None, ABOVE))


@pytest.mark.parametrize("bound", ["between", "at_least", "below"])
def test_a_load_has_the_error_of_the_maximum_alone(measured: CapacityCell, bound: Bound) -> None:
    found = share_of_maximum(meeting(measured, WITHIN, bound))
    assert found is not None
    assert (found.value, found.n, found.unit) == (0.5, 5, "share")
    assert found.low == pytest.approx(1000 / 2100)
    assert found.high == pytest.approx(1000 / 1900)
    assert of_maximum(meeting(measured, WITHIN)) == ", 50 % (95 %: 48 to 53) of the maximum"


def test_of_a_rate_that_was_not_steady_there_is_no_share(measured: CapacityCell) -> None:
    found = replace(meeting(measured, WITHIN), open=(UNSTEADY,))
    assert share_of_maximum(found) is None
    assert of_maximum(found) == ""
    assert share_cell(found) is None


def test_no_share_is_above_one(measured: CapacityCell) -> None:
    near = share_of_maximum(meeting(measured, replace(WITHIN, value=2010.0)))
    assert near is not None
    assert near.low is not None
    assert near.low < 1.0
    assert (near.value, near.high) == (1.0, 1.0)
    # Above the maximum by more than its error.
    found = meeting(measured, replace(WITHIN, value=2400.0))
    assert share_of_maximum(found) is None
    assert of_maximum(found) == ""
    assert share_cell(found) is None


def test_a_maximum_that_may_be_more_makes_an_upper_bound(measured: CapacityCell) -> None:
    found = replace(meeting(measured, WITHIN), open=("search_still_rising",))
    assert of_maximum(found) == ", at most 50 % (95 %: 48 to 53) of the maximum"
    # The load may be more, and so may the maximum.
    assert share_cell(found) is None
    below = replace(meeting(measured, WITHIN, "below"), open=("search_still_rising",))
    assert share_cell(below) == "below 50 % (95 %: 48 to 53)"


def test_a_table_says_on_which_side_the_share_is_a_bound(measured: CapacityCell) -> None:
    assert str(share_cell(meeting(measured, WITHIN))).startswith("at least ")
    assert str(share_cell(meeting(measured, WITHIN, "below"))).startswith("below ")


def test_a_load_that_is_not_confirmed_has_no_share_in_a_table(measured: CapacityCell) -> None:
    for above in (None, replace(ABOVE, runs=1)):
        found = replace(measured, capacity=Capacity(WITHIN, "between", 5, None, above))
        assert share_cell(found) is None


def test_without_a_maximum_that_may_be_said_there_is_no_share(measured: CapacityCell) -> None:
    found = meeting(measured, WITHIN)
    invalid = replace(found, summary=replace(found.summary, verdict="invalid"))
    bare = replace(found, summary=replace(found.summary, estimates={}))
    for cell in (invalid, bare, replace(found, capacity=None)):
        assert of_maximum(cell) == ""
        assert share_cell(cell) is None


def test_the_share_is_in_the_sentence_and_in_the_table() -> None:
    plan = made_plan(objective=Objective("p99", 5.0), repetitions=5, within=12)
    summary = summarise(made_capacity_run({"nginx": CapacityWorld()}, plan))
    (text,) = [each.text for each in summary.findings if each.code == "objective"]
    assert re.search(r", \d\d % \(95 %: \d\d to \d\d\) of the maximum\.", text)
    (maxima,) = [each for each in summary.tables if each.id == "maxima"]
    found = maxima.rows[0][maxima.columns.index("of the maximum")]
    assert re.fullmatch(r"at least \d\d % \(95 %: \d\d to \d\d\)", str(found))
