"""A quick form of the simulation behind docs/validity.md, the requirements, and the page."""

from dataclasses import replace
from itertools import cycle

import pytest

from bench import gate
from bench.gate import CANNOT_TELL, PASSED, SHARES, STOPPED, Ends, gated, how_it_ended
from bench.provenance import Made
from bench.simulated import FIXED, PLANS, SEQUENTIAL, Plan, simulate
from bench.validity import CELLS, FIRST, equal_cells, planted
from bench.validity_file import (
    BUDGETS_S,
    FILE,
    By,
    Contents,
    Equal,
    Gated,
    Longer,
    Planted,
    Real,
    read,
)
from bench.validity_page import PAGE, page
from tlslab.domain.errors import CannotRunError

RUNS = 60

RATE, COST = "connections_per_s", "server_cpu_us_per_connection"
BUDGET_S = BUDGETS_S[RATE]


@pytest.mark.simulation
def test_equal_cells_are_seldom_called_different_and_a_slower_one_often() -> None:
    # Of 60 runs at 5 %, nine or more have a false difference in 2 of 1,000 cases.
    for plan in (FIXED[0], SEQUENTIAL):
        found = [simulate(plan, CELLS[n % len(CELLS)], 0.02, n) for n in range(RUNS)]
        assert sum(each.ranking for each in found) <= 8
        assert sum(each.table for each in found) <= 8
        slower = [simulate(plan, 2, 0.01, n, 0.05) for n in range(RUNS)]
        assert sum(each.slower for each in slower) >= 54


def test_simulated_requirements_that_are_not_met_are_named() -> None:
    good = Equal("fixed, 10 blocks", 1000, 50, 50, 80)
    assert Contents((good,)).missed() == []
    assert Contents((replace(good, table=51),)).missed() == [
        "not met: fixed, 10 blocks: runs with a false table, 5 % at most: 51 of 1000"
    ]
    few = Planted("fixed, 10 blocks", 0.02, 0.05, 1000, 899, 10.0)
    assert Contents(planted=(few,)).missed() == [
        "not met: fixed, 10 blocks, noise 2 %: slowdowns of 5 % found, 9 of 10 at least: "
        "899 of 1000"
    ]


def day(*longer: Longer, alarms: int = 2, runs: int = 60) -> Real:
    """A day of real runs."""
    by = (By(RATE, runs, alarms, 30, 0.95, 0.08),)
    return Real("2026-11-25", "0.1.0", "A", 2, "6", "command", 5, 500, by, longer)


def test_a_slowdown_has_to_be_found_within_the_budget_by_every_ranking() -> None:
    within = Longer(RATE, 20, BUDGET_S, 20, 1, 18)
    assert Contents(real=(day(within),)).missed() == []
    (missed,) = Contents(real=(day(replace(within, found=17)),)).missed()
    assert missed == (
        f"not met: slowdowns of 5 % found by `{RATE}`, 2026-11-25, noise 8.0 %, in a run of 80 s "
        "at most (those kept: 80 s), 9 of 10 at least: 17 of 20"
    )
    shorter = Longer(RATE, 20, BUDGET_S / 2, 20, 1, 17)
    assert "at most (those kept: 40 s)" in Contents(real=(day(shorter),)).missed()[0]
    # Differences that only longer runs find do not count, nor do those that shorter ones miss.
    beyond = Longer(RATE, 25, BUDGET_S + 1, 16, 0, 16)
    below = Longer(RATE, 10, BUDGET_S / 2, 40, 0, 4)
    assert len(Contents(real=(day(replace(within, found=17), beyond),)).missed()) == 1
    assert Contents(real=(day(within, below),)).missed() == []
    by_cost = replace(within, estimate=COST, seconds=BUDGETS_S[COST], found=5)
    assert [COST in bar for bar in Contents(real=(day(within, by_cost),)).missed()] == [True]


def test_each_day_is_judged_and_the_newest_one_decides() -> None:
    """Another day may mean another machine, or a noisier one."""
    within = Longer(RATE, 20, BUDGET_S, 20, 1, 18)
    noisy, quiet = day(replace(within, found=17)), replace(day(within), created="2026-11-26")
    both = Contents(real=(noisy, quiet))
    assert len(both.missed()) == 1
    assert both.newest().real == (quiet,)
    assert both.newest().missed() == []


def test_false_alarms_count_where_chance_is_excluded() -> None:
    assert Contents(real=(day(alarms=6),)).missed() == []
    assert Contents(real=(day(alarms=9),)).missed() == [
        f"not met: false alarms by `{RATE}`, 5 % at most: 9 of 60"
    ]


def test_only_a_whole_interval_shows_that_a_requirement_is_met() -> None:
    """95 % intervals: 0 of 60 has 0 to 6.0 %, 0 of 80 has 0 to 4.5 %, 18 of 20 has 68.3 to 98.8 %.

    40 of 40 has 91.2 to 100 %.
    """
    few = Longer(RATE, 20, BUDGET_S, 20, 1, 18)
    contents = Contents(real=(day(few, alarms=0), day(replace(few, runs=40, found=40), alarms=0)))
    alarms, found, all_found = contents.real_bars()
    assert (alarms.runs, alarms.verdict) == (120, "met")
    assert [found.verdict, all_found.verdict] == ["not refuted", "met"]
    (uncertain, _) = Contents(real=(day(few, alarms=0),)).real_bars()
    assert (uncertain.runs, uncertain.verdict) == (60, "not refuted")


GATED = Gated("2026-11-25", "A", 2, "6", "command", "1%", COST, 30, 0.05, 90.0, 18, 0, 2)


def test_the_gate_has_to_stop_slowdowns_and_nothing_else() -> None:
    assert Contents(gated=(GATED,)).missed() == []
    weak = replace(GATED, stopped=17, cannot_tell=3)
    assert len(Contents(gated=(weak,)).missed()) == 1
    equal = replace(GATED, planted=0.0, stopped=0, passed=15, cannot_tell=5)
    assert Contents(gated=(equal,)).missed() == []
    assert len(Contents(gated=(replace(equal, stopped=6, passed=9),)).missed()) == 1


def test_how_the_job_script_ended() -> None:
    assert how_it_ended(1, "", "2 ratios slower") == STOPPED
    assert how_it_ended(0, "", "excluded: exit 0") == PASSED
    assert how_it_ended(0, "::warning::tlslab cannot tell", "") == CANNOT_TELL
    with pytest.raises(CannotRunError, match="no server"):
        how_it_ended(3, "", "no server")


BY = Made("2026-11-26T00:00:00+00:00", "0123456789", "python -m bench.gate")


@pytest.mark.parametrize(("runs", "budget_s", "made"), [(3, 1e9, 3), (3, 0.0, 1)])
def test_runs_of_the_gate_are_counted_by_share_while_they_fit(
    monkeypatch: pytest.MonkeyPatch, runs: int, budget_s: float, made: int
) -> None:
    outcomes = cycle([PASSED, STOPPED])
    monkeypatch.setattr(gate, "once", lambda folder, share, blocks: next(outcomes))
    ends = Ends()
    gated(ends, runs, budget_s, 30)
    equal, slower = ends.rows(30, BY)
    assert (equal.planted, slower.planted) == SHARES
    assert (equal.passed, equal.stopped, slower.stopped, slower.passed) == (made, 0, made, 0)
    assert (equal.blocks, equal.commit, equal.command) == (30, BY.commit, BY.command)


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
