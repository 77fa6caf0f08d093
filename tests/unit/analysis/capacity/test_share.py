"""The load that meets the objective, as a share of the maximum: its interval and its bounds."""

from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, drive, made_capacity_run, made_cell, made_plan
from factories.capacity_summary import stated
from tlslab.analysis.capacity import summarise
from tlslab.analysis.capacity.capacity_cell import CapacityCell, measure
from tlslab.analysis.capacity.points import Capacity, LoadBound
from tlslab.analysis.capacity.tables import share_cell
from tlslab.domain.capacity import Objective
from tlslab.domain.estimate import Estimate
from tlslab.domain.figure import Marked
from tlslab.domain.loads import Load
from tlslab.domain.open_maxima import UNSTEADY
from tlslab.words.numbers import marked_words

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


def meeting(cell: CapacityCell, load: Estimate, bound: LoadBound = "between") -> CapacityCell:
    """A cell whose objective is met up to this load."""
    return replace(cell, capacity=Capacity(load, bound, 5, None, ABOVE))


@pytest.mark.parametrize("bound", ["between", "at_least", "below"])
def test_a_load_has_the_error_of_the_maximum_alone(
    measured: CapacityCell, bound: LoadBound
) -> None:
    found = meeting(measured, WITHIN, bound).share
    assert found is not None
    assert (found.value, found.n, found.unit) == (0.5, 5, "share")
    assert found.low == pytest.approx(1000 / 2100)
    assert found.high == pytest.approx(1000 / 1900)


def test_of_a_rate_that_was_not_steady_there_is_no_share(measured: CapacityCell) -> None:
    found = replace(meeting(measured, WITHIN), open=(UNSTEADY,))
    assert found.share is None
    assert share_cell(found) is None


def test_no_share_is_above_one(measured: CapacityCell) -> None:
    near = meeting(measured, replace(WITHIN, value=2010.0)).share
    assert near is not None
    assert near.low is not None
    assert near.low < 1.0
    assert (near.value, near.high) == (1.0, 1.0)
    # Above the maximum by more than its error.
    found = meeting(measured, replace(WITHIN, value=2400.0))
    assert found.share is None
    assert share_cell(found) is None


def test_a_maximum_that_may_be_more_makes_an_upper_bound(measured: CapacityCell) -> None:
    found = replace(meeting(measured, WITHIN), open=("search_still_rising",))
    # The load may be more, and so may the maximum.
    assert share_cell(found) is None
    below = replace(meeting(measured, WITHIN, "below"), open=("search_still_rising",))
    limit = share_cell(below)
    assert limit is not None
    assert marked_words(limit) == "below 50 % (95 %: 48 to 53)"


def test_a_table_says_on_which_side_the_share_is_a_bound(measured: CapacityCell) -> None:
    sides: dict[LoadBound, str] = {"between": "at least", "below": "below"}
    for bound, side in sides.items():
        limit = share_cell(meeting(measured, WITHIN, bound))
        assert limit is not None
        assert limit.mark == side


def test_a_load_that_is_not_confirmed_has_no_share_in_a_table(measured: CapacityCell) -> None:
    for above in (None, replace(ABOVE, runs=1)):
        found = replace(measured, capacity=Capacity(WITHIN, "between", 5, None, above))
        assert share_cell(found) is None


def test_without_a_maximum_that_may_be_said_there_is_no_share(measured: CapacityCell) -> None:
    found = meeting(measured, WITHIN)
    invalid = replace(found, summary=replace(found.summary, verdict="invalid"))
    bare = replace(found, summary=replace(found.summary, estimates={}))
    for cell in (invalid, bare, replace(found, capacity=None)):
        assert cell.share is None
        assert share_cell(cell) is None


def test_the_share_is_in_the_finding_and_in_the_table() -> None:
    plan = made_plan(objective=Objective("p99", 5.0), repetitions=5, within=12)
    summary = summarise(made_capacity_run({"nginx": CapacityWorld()}, plan))
    (values,) = stated(summary, "objective")
    (maxima,) = [each for each in summary.tables if each.id == "maxima"]
    found = maxima.rows[0][maxima.columns.index("of the maximum")]
    assert found == Marked("at least", values["share"])
