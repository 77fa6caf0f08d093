"""A quick form of the simulation behind docs/validity.md, the requirements, and the page."""

import pytest

from bench.simulated import FIXED, PLANS, SEQUENTIAL, Plan, simulate
from bench.validity import CELLS, FIRST, equal_cells, planted
from bench.validity_file import (
    FILE,
    read,
)
from bench.validity_page import PAGE, page

RUNS = 60


@pytest.mark.simulation
def test_equal_cells_are_seldom_called_different_and_a_slower_one_often() -> None:
    # Of 60 runs at 5 %, nine or more have a false difference in 2 of 1,000 cases.
    for plan in (FIXED[0], SEQUENTIAL):
        found = [simulate(plan, CELLS[n % len(CELLS)], 0.02, n) for n in range(RUNS)]
        assert sum(each.ranking for each in found) <= 8
        assert sum(each.table for each in found) <= 8
        slower = [simulate(plan, 2, 0.01, n, 0.05) for n in range(RUNS)]
        assert sum(each.slower for each in slower) >= 54


@pytest.mark.simulation
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: str(plan.name))
def test_the_kept_simulations_are_those_of_todays_code(plan: Plan) -> None:
    """The first runs of each row are kept ones; if not: `python -m bench.validity --real 0`."""
    kept = read(FILE)
    (equal,) = [each for each in kept.equal if each.plan == plan.name]
    assert equal.first == equal_cells(plan, FIRST).first
    slower = [each for each in kept.planted if each.plan == plan.name]
    assert slower
    for each in slower:
        assert each.first == planted(plan, each.noise, FIRST).first


def test_the_page_is_that_of_the_kept_numbers() -> None:
    kept = read(FILE)
    assert kept.equal
    assert all(each.runs == 1000 for each in kept.equal)
    assert PAGE.read_text("utf-8") == page(kept)


def test_no_promise_about_false_alarms_is_broken_and_the_page_says_what_is_not_found() -> None:
    kept = read(FILE)
    missed = [bar for bar in kept.bars() if not bar.met]
    assert all("slowdowns" in bar.what for bar in missed)
    lines = PAGE.read_text("utf-8").splitlines()
    for bar in kept.real_bars():
        (line,) = [line for line in lines if line.startswith(f"| {bar.what} |")]
        assert ("**not met**" in line) == (bar in missed)
