"""Rankings: the ranks that the trials leave open."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.ranking import leaders, rank, rankings, ties
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import CellSummary

RATE = "connections_per_s"


def measured(name: str, values: Mapping[int, float]) -> Measured:
    centre = float(np.exp(np.mean(np.log(list(values.values())))))
    estimate = Estimate(centre, None, None, len(values), "1/s", "made up")
    summary = CellSummary(name, {"group": name}, "valid", (), len(values), {RATE: estimate})
    return Measured(summary, {RATE: values})


def noisy(name: str, rate: float, noise: float) -> Measured:
    draw = np.random.default_rng(sum(map(ord, name)))
    return measured(name, {b: rate * np.exp(draw.normal(0, noise)) for b in range(10)})


def names(cells: list[Measured]) -> list[str]:
    return [cell.summary.key for cell in cells]


def test_one_block_ranks_nobody_even_at_twelve_times() -> None:
    cells = [measured("A", {0: 100.0}), measured("B", {0: 1200.0}), measured("C", {0: 300.0})]
    found = rank(cells, RATE)
    assert [(each.cell.summary.key, each.best, each.worst) for each in found] == [
        ("B", 1, 3),
        ("C", 1, 3),
        ("A", 1, 3),
    ]
    comparison = compare(cells[1], cells[0], RATE)
    assert comparison is not None
    assert (comparison.verdict, comparison.may_differ) == ("cannot_tell", None)
    left = ties(leaders(found), RATE)
    assert (left["near"], left["apart"], left["untested"]) == ([], [], ["C", "A"])


def test_each_tie_has_the_difference_that_its_ratio_leaves_open() -> None:
    noise = np.random.default_rng(4).normal(0, 0.2, (9, 6))
    cells = [
        measured(name, {block: 100.0 * math.exp(one) for block, one in enumerate(logs)})
        for name, logs in zip("ABCDEFGHI", noise, strict=True)
    ]
    tied = leaders(rank(cells, RATE))
    assert len(tied) == 9
    left = ties(tied, RATE)
    ends = {other.summary.key: compare(tied[0], other, RATE) for other in tied[1:]}
    assert {each["cell"]: each["difference"] for each in left["apart"]} == {
        name: found.may_differ for name, found in ends.items() if found is not None
    }


def test_without_a_block_in_common_nothing_is_known() -> None:
    found = rank([measured("A", {0: 100.0, 1: 101.0}), measured("B", {2: 900.0, 3: 910.0})], RATE)
    assert [(each.best, each.worst) for each in found] == [(1, 2), (1, 2)]


def test_ranges_hold_for_every_pair_not_for_the_leader_alone() -> None:
    # B overlaps with both; A and C are apart. "1=" for all three would be wrong, and so would ranks
    # that put B beside only one of them.
    shared = np.random.default_rng(8).normal(0, 0.03, 12)
    cells = [
        measured("A", {b: 100 * np.exp(e) for b, e in enumerate(shared)}),
        measured("B", {b: 97 * np.exp(e + 0.08 * (-1) ** b) for b, e in enumerate(shared)}),
        measured("C", {b: 94 * np.exp(e) for b, e in enumerate(shared)}),
    ]
    found = {each.cell.summary.key: (each.best, each.worst) for each in rank(cells, RATE)}
    assert found == {"A": (1, 2), "B": (1, 3), "C": (2, 3)}


def test_clear_differences_give_single_ranks() -> None:
    cells = [noisy(n, r, 0.01) for n, r in (("A", 100.0), ("B", 300.0), ("C", 200.0))]
    found = [(each.cell.summary.key, each.best, each.worst) for each in rank(cells, RATE)]
    assert found == [("B", 1, 1), ("C", 2, 2), ("A", 3, 3)]


def test_the_order_is_that_of_the_blocks_that_cells_share() -> None:
    # A was measured in the fast blocks only: its mean is higher, although B is faster in each
    # block.
    speed = {b: (2.0 if b < 4 else 1.0) for b in range(12)}
    draw = np.random.default_rng(4)

    def value(b: int, rate: float) -> float:
        return float(rate * speed[b] * np.exp(draw.normal(0, 0.005)))

    a = measured("A", {b: value(b, 100) for b in range(4)})
    b = measured("B", {b: value(b, 110) for b in range(12)})
    assert a.summary.estimates[RATE].value > b.summary.estimates[RATE].value
    found = rank([a, b], RATE)
    assert names([each.cell for each in found]) == ["B", "A"]
    assert [(each.best, each.worst) for each in found] == [(1, 1), (2, 2)]


@pytest.mark.simulation
@pytest.mark.parametrize("cells", [2, 6, 20])
def test_equals_are_ranked_apart_once_in_twenty_at_most(cells: int) -> None:
    runs = 1_000
    apart = 0
    for seed in range(runs):
        draw = np.random.default_rng([seed, cells])
        blocks = draw.normal(0, 0.05, 10)
        made = [
            measured(
                f"C{n}", {b: 100 * np.exp(blocks[b] + draw.normal(0, 0.03)) for b in range(10)}
            )
            for n in range(cells)
        ]
        apart += any((each.best, each.worst) != (1, cells) for each in rank(made, RATE))
    # At most 50 are expected; 66 or more occur once in 70 runs.
    assert apart <= 65


def test_costs_are_ranked_with_the_least_first() -> None:
    name = "server_cpu_us_per_connection"
    cells = []
    for key, cost in (("A", 300.0), ("B", 200.0)):
        cell = noisy(key, cost, 0.01)
        cells.append(Measured(cell.summary, {name: cell.values[RATE]}))
    assert names([each.cell for each in rank(cells, name)]) == ["B", "A"]
    found = rankings(cells, {"group": "A"})
    assert [(r.estimate, r.cells) for r in found] == [(name, ("B", "A"))]


def test_a_place_says_how_large_a_difference_stays_open() -> None:
    """Over all cells from which it cannot be told apart; nothing if it stands alone."""
    cells = [noisy(n, r, 0.02) for n, r in (("A", 100.0), ("B", 100.5), ("C", 300.0))]
    (found,) = rankings(cells, {"group": "A"})
    places = {place.cell: place for place in found.places}
    assert places["C"].may_differ is None
    assert places["A"].may_differ == places["B"].may_differ
    comparison = compare(cells[0], cells[1], RATE)
    assert comparison is not None
    # The difference of Student's t alone: the ratio's interval is the wider of two.
    assert places["A"].may_differ == pytest.approx(comparison.may_differ, rel=0.3)
    apart = [measured("A", {0: 100.0}), measured("B", {0: 1200.0})]
    assert [place.may_differ for place in rankings(apart, {"group": "A"})[0].places] == [None, None]


def bounded(name: str, rate: float) -> Measured:
    """A cell whose rate was limited by the generator."""
    cell = noisy(name, rate, 0.005)
    summary = replace(cell.summary, verdict="at_least", lower_bounds=(RATE,))
    return Measured(summary, cell.values)


def places(cells: Sequence[Measured]) -> list[tuple[str, int, int]]:
    return [(each.cell.summary.key, each.best, each.worst) for each in rank(cells, RATE)]


def test_lower_bounds_above_all_others_are_first() -> None:
    # Like six suites with "at least 3,889/s" beside a winner of 3,412/s, which were left out.
    cells = [noisy("A", 3412.0, 0.005), noisy("B", 3000.0, 0.005)]
    cells += [bounded("C", 3889.0), bounded("D", 3900.0)]
    assert places(cells) == [("D", 1, 2), ("C", 1, 2), ("A", 3, 3), ("B", 4, 4)]
    found = rank(cells, RATE)
    assert names(leaders(found)) == ["D", "C"]
    assert found[0].beats == (2, 3)
    assert ties(leaders(found), RATE)["bounds"] == ["D", "C"]


def test_nothing_is_better_than_a_lower_bound() -> None:
    cells = [noisy("A", 3412.0, 0.005), bounded("B", 1000.0), noisy("C", 500.0, 0.005)]
    assert places(cells) == [("A", 1, 2), ("B", 1, 2), ("C", 3, 3)]


def test_lower_bounds_alone_have_no_order() -> None:
    assert rank([bounded("A", 3000.0), bounded("B", 1000.0)], RATE) == ()


def test_a_ratio_to_a_bound_is_compared_only_where_the_bound_is_greater() -> None:
    exact, above, below = noisy("A", 100.0, 0.01), bounded("B", 150.0), bounded("C", 50.0)
    verdicts = [
        found.verdict
        for candidate in (above, below)
        if (found := compare(candidate, exact, RATE, bounds=True)) is not None
    ]
    assert verdicts == ["faster", "not_comparable"]
    plain = compare(above, exact, RATE)
    assert plain is not None
    assert plain.verdict == "not_comparable"
