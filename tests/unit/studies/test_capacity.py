"""The study of capacity: its figures beside ours, as ratios."""

from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from factories.capacity_summary import FIVE, captured_run
from factories.worded import overlay, summarise
from tlslab.analysis.overlay import Side
from tlslab.domain.estimate import Estimate
from tlslab.domain.figure import TableCell
from tlslab.domain.run import RunContents
from tlslab.studies import beside as beside_platforms


def beside(contents: RunContents) -> dict[str, tuple[TableCell, ...]]:
    """The rows of the table with the published figures, by their first cell."""
    (table,) = (table for table in summarise(contents).tables if table.id == "published")
    return {str(row[0]): row for row in table.rows}


@pytest.fixture(name="rows", scope="module")
def _rows() -> dict[str, tuple[TableCell, ...]]:
    return beside(made_capacity_run(plan=FIVE))


def test_search_processors_and_climb_have_their_counterparts(
    rows: dict[str, tuple[TableCell, ...]],
) -> None:
    search = [row[1] for name, row in rows.items() if name.startswith("search")]
    assert search[0] == "0.988 and 0.979"
    climb = [row[1] for name, row in rows.items() if "at 4 times the lowest rate" in name]
    assert climb[0] == "5.29"
    scaling = [row[1] for name, row in rows.items() if "s with 2 processors over" in name]
    assert scaling == ["2.00 (linear)"] * 2


def test_two_servers_of_one_machine_do_not_stand_beside_the_studys_two_machines() -> None:
    worlds = {"nginx": CapacityWorld(alone=1100.0), "apache": CapacityWorld(alone=700.0, seed=3)}
    names = " ".join(beside(made_capacity_run(worlds, FIVE)))
    assert "mean response time at 2 times the lowest rate" in names
    assert "apache over nginx" not in names
    assert "Itanium over" not in names


def test_runs_of_two_machines_stand_beside_the_studys_two_platforms() -> None:
    plan = made_plan(repetitions=3)
    here = made_capacity_run({"nginx": CapacityWorld()}, plan)
    there = made_capacity_run({"nginx": CapacityWorld(alone=1800.0, seed=2)}, plan)
    there = replace(there, environment=replace(there.environment, machine={"processor": "other"}))
    runs = [(each, summarise(each)) for each in (here, there)]
    comparison = overlay(Side("here", runs[0][1]), Side("there", runs[1][1]))
    (table,) = (t for t in beside_platforms(comparison, runs).tables if t.id == "published")
    rate, *times = table.rows
    assert rate[1] == "over 12, with 1.78 times the clock"
    assert isinstance(rate[2], Estimate)
    assert rate[2].value == pytest.approx(2, rel=0.05)
    assert [row[1] for row in times] == ["about 0.17", "about 0.17"]
    assert "100 % of the maximum" in str(times[0][0])


def test_runs_of_one_machine_do_not_stand_beside_the_studys_two_platforms() -> None:
    contents = made_capacity_run({"nginx": CapacityWorld()}, made_plan(repetitions=3))
    runs = [(contents, summarise(contents))] * 2
    comparison = overlay(Side("a", runs[0][1]), Side("b", runs[1][1]))
    assert beside_platforms(comparison, runs) is comparison


@pytest.mark.parametrize(("dropped", "compared"), [(0, True), (3, False)])
def test_only_a_valid_capture_stands_beside_the_studys(dropped: int, compared: bool) -> None:
    assert any("own times" in name for name in beside(captured_run(dropped))) == compared
