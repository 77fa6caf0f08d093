"""Whether response times are longer at a higher load is tested for all cells as one family."""

from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, drive, made_capacity_run, made_cell, made_plan
from factories.worded import summarise
from tlslab.analysis.capacity.capacity_cell import measure
from tlslab.analysis.capacity.findings import findings
from tlslab.domain.estimate import Estimate

FIVE = made_plan(repetitions=5)

# Intervals that are just disjoint: alone p = 0.003.
FIRST = Estimate(1.0, 0.9, 1 / 0.9, 5, "ms", "Student t on log values, 95 %")
LAST = Estimate(1.25, 1.25 * 0.9, 1.25 / 0.9, 5, "ms", "Student t on log values, 95 %")


@pytest.mark.parametrize(("cells", "longer"), [(1, True), (20, False)])
def test_cells_are_judged_together(cells: int, longer: bool) -> None:
    where = made_capacity_run({"nginx": CapacityWorld()}, FIVE).environment
    planned = made_cell(server="s0")
    whole = measure(planned, drive(FIVE, CapacityWorld(), planned), FIVE, where)
    times = {"response_ms_mean_at_20": FIRST, "response_ms_mean_at_100": LAST}
    summary = replace(whole.summary, estimates={**whole.summary.estimates, **times})
    many = [replace(whole, cell=made_cell(server=f"s{n}"), summary=summary) for n in range(cells)]
    said = [e.values["longer"] for e in findings(many, FIVE, {}) if e.code == "latency"]
    assert said == [longer] * cells


def test_the_method_says_what_is_judged_together() -> None:
    method = summarise(made_capacity_run({"nginx": CapacityWorld()}, FIVE)).method
    assert any("(Holm)" in each and "mean response times" in each for each in method)
