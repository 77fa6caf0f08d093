"""The simulation behind docs/validity.md in a quick form, and the page."""

from dataclasses import replace

from bench.simulated import FIXED, SEQUENTIAL, simulate
from bench.validity import CELLS
from bench.validity_file import FILE, PAGE, Contents, Equal, Planted, page, read

RUNS = 60


def test_equal_cells_are_seldom_called_different_and_a_slower_one_often() -> None:
    # Of 60 runs at 5 % nine or more have a false difference in 2 of 1,000 cases.
    for plan in (FIXED[0], SEQUENTIAL):
        found = [simulate(plan, CELLS[n % len(CELLS)], 0.02, n) for n in range(RUNS)]
        assert sum(each.ranking for each in found) <= 8
        assert sum(each.table for each in found) <= 8
        slower = [simulate(plan, 2, 0.01, n, 0.05) for n in range(RUNS)]
        assert sum(each.slower for each in slower) >= 54


def test_the_same_seed_makes_the_same_run() -> None:
    assert simulate(SEQUENTIAL, 4, 0.02, 7) == simulate(SEQUENTIAL, 4, 0.02, 7)


def test_bars_that_are_missed_are_named() -> None:
    good = Equal("fixed, 10 blocks", 1000, 50, 50, 80)
    assert Contents((good,)).missed() == []
    assert Contents((replace(good, table=51),)).missed() == [
        "fixed, 10 blocks: 51 of 1000 runs with a false table"
    ]
    few = Planted("fixed, 10 blocks", 0.02, 0.05, 1000, 899, 10.0)
    assert Contents(planted=(few,)).missed() == ["fixed, 10 blocks: 899 of 1000 slowdowns found"]


def test_the_page_is_that_of_the_kept_numbers_and_no_bar_is_missed() -> None:
    kept = read(FILE)
    assert kept.equal
    assert all(each.runs == 1000 for each in kept.equal)
    assert PAGE.read_text("utf-8") == page(kept)
    assert kept.missed() == []
