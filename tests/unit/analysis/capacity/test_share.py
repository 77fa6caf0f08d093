"""The load that meets the objective, as a share of the maximum: its interval and its bounds."""

import re
from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, drive, made_capacity_run, made_cell, made_plan
from tlslab.analysis.capacity import summarise
from tlslab.analysis.capacity.capacity_cell import CapacityCell, measure
from tlslab.analysis.capacity.openness import UNSTEADY
from tlslab.analysis.capacity.saturation import Bound, Capacity
from tlslab.analysis.capacity.share import of_maximum, share_cell, share_of_maximum
from tlslab.model.capacity import Objective
from tlslab.model.estimate import Estimate

PLAN = made_plan(objective=Objective("p99", 5.0), repetitions=5)

MAXIMUM = Estimate(2000.0, 1900.0, 2100.0, 5, "1/s", "")
CROSSED = Estimate(1000.0, 950.0, 1050.0, 5, "1/s", "")


@pytest.fixture(name="measured", scope="module")
def _measured() -> CapacityCell:
    cell = made_cell()
    where = made_capacity_run({"nginx": CapacityWorld()}, PLAN).environment
    found = measure(cell, drive(PLAN, CapacityWorld(), cell), PLAN, where)
    estimates = {**found.summary.estimates, "connections_per_s": MAXIMUM}
    return replace(found, summary=replace(found.summary, estimates=estimates))


def meeting(cell: CapacityCell, load: Estimate, bound: Bound = "exact") -> CapacityCell:
    """A cell whose objective is met up to this load."""
    return replace(cell, capacity=Capacity(load, bound, 5))


def offered(cell: CapacityCell) -> Estimate:
    """A load that was offered; without an interval, like bounds."""
    return Estimate(cell.points[0].offered, None, None, 5, "1/s", "")


def test_the_intervals_of_load_and_maximum_are_put_together(measured: CapacityCell) -> None:
    found = share_of_maximum(meeting(measured, CROSSED))
    assert found is not None
    assert (found.value, found.n, found.unit) == (0.5, 5, "share")
    assert found.low is not None
    assert found.high is not None
    # Wider than with one error alone, narrower than with both errors at once.
    assert 950 / 2100 < found.low < 950 / 2000
    assert 1050 / 1900 > found.high > 1050 / 2000
    assert of_maximum(meeting(measured, CROSSED)) == ", 50 % (95 %: 47 to 54) of the maximum"


def test_a_load_that_was_offered_has_the_error_of_the_maximum_alone(measured: CapacityCell) -> None:
    load = offered(measured)
    bounds: tuple[Bound, ...] = ("between", "at_least")
    for bound in bounds:
        found = share_of_maximum(meeting(measured, load, bound))
        assert found is not None
        assert found.low == pytest.approx(load.value / 2100)
        assert found.high == pytest.approx(load.value / 1900)


def test_where_repetitions_know_a_bound_only_there_is_no_interval(measured: CapacityCell) -> None:
    """The middle crossing lies between two loads."""
    found = meeting(measured, Estimate(1234.5, None, None, 5, "1/s", ""))
    share = share_of_maximum(found)
    assert share is not None
    assert (share.low, share.high) == (None, None)
    assert of_maximum(found) == ", 62 % of the maximum"
    assert share_cell(found) == "62 %"


@pytest.mark.parametrize("uncertain", [{"missed": 1}, {"exceeded": 4}])
def test_an_offered_load_that_not_all_repetitions_know_has_no_interval(
    measured: CapacityCell, uncertain: dict[str, int]
) -> None:
    capacity = Capacity(offered(measured), "at_least", 5, **uncertain)
    share = share_of_maximum(replace(measured, capacity=capacity))
    assert share is not None
    assert (share.low, share.high) == (None, None)


def test_a_load_that_all_repetitions_missed_is_as_certain_as_the_maximum(
    measured: CapacityCell,
) -> None:
    share = share_of_maximum(
        replace(measured, capacity=Capacity(offered(measured), "below", 5, missed=5))
    )
    assert share is not None
    assert share.low is not None


def test_of_a_rate_that_was_not_steady_there_is_no_share(measured: CapacityCell) -> None:
    found = replace(meeting(measured, CROSSED), open=(UNSTEADY,))
    assert share_of_maximum(found) is None
    assert of_maximum(found) == ""
    assert share_cell(found) is None


def test_no_share_is_above_one(measured: CapacityCell) -> None:
    near = share_of_maximum(meeting(measured, Estimate(2010.0, 1950.0, 2070.0, 5, "1/s", "")))
    assert near is not None
    assert near.low is not None
    assert near.low < 1.0
    assert (near.value, near.high) == (1.0, 1.0)
    # Above the maximum by more than the errors of both, or with an unknown error.
    for load in (
        Estimate(2400.0, 2300.0, 2500.0, 5, "1/s", ""),
        Estimate(2400.0, None, None, 5, "1/s", ""),
    ):
        found = meeting(measured, load)
        assert share_of_maximum(found) is None
        assert of_maximum(found) == ""
        assert share_cell(found) is None


def test_a_maximum_that_may_be_more_makes_an_upper_bound(measured: CapacityCell) -> None:
    found = replace(meeting(measured, CROSSED), open=("search_still_rising",))
    assert of_maximum(found) == ", at most 50 % (95 %: 47 to 54) of the maximum"
    assert share_cell(found) == "at most 50 % (95 %: 47 to 54)"


def test_a_table_says_on_which_side_the_share_is_a_bound(measured: CapacityCell) -> None:
    exact = meeting(measured, CROSSED)
    assert share_cell(exact) == share_of_maximum(exact)
    load = offered(measured)
    least = meeting(measured, load, "at_least")
    assert str(share_cell(least)).startswith("at least ")
    assert str(share_cell(meeting(measured, load, "below"))).startswith("below ")
    # The load may be more, and so may the maximum.
    assert share_cell(replace(least, open=("search_still_rising",))) is None


def test_without_a_maximum_that_may_be_said_there_is_no_share(measured: CapacityCell) -> None:
    found = meeting(measured, CROSSED)
    invalid = replace(found, summary=replace(found.summary, verdict="invalid"))
    bare = replace(found, summary=replace(found.summary, estimates={}))
    for cell in (invalid, bare, replace(found, capacity=None)):
        assert of_maximum(cell) == ""
        assert share_cell(cell) is None


def test_the_interval_is_in_the_sentences_and_in_the_table() -> None:
    summary = summarise(made_capacity_run({"nginx": CapacityWorld()}, PLAN))
    words = r", \d\d % \(95 %: \d\d to \d\d\) of the maximum\."
    (text,) = [each.text for each in summary.findings if each.code == "objective"]
    assert re.search(words, text)
    assert summary.answer is not None
    assert re.search(words, summary.answer.sentences[1])
    (maxima,) = [each for each in summary.tables if each.id == "maxima"]
    found = maxima.rows[0][maxima.columns.index("of the maximum")]
    assert isinstance(found, Estimate)
    assert found.unit == "share"
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high < 1
