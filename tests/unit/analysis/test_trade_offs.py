"""Cells weighed against each other: the deciding measure, the possible best ones, the order."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from factories.run import World, made_run
from tlslab.analysis.compare import Measured
from tlslab.analysis.trade_offs import DIMENSIONS, measured_cells, ratios, weigh
from tlslab.domain.finding import CellSummary, CellVerdict

RATE, COST, BYTES = "connections_per_s", "server_cpu_us_per_connection", "wire_bytes_per_handshake"


def cell(
    key: str,
    values: Mapping[str, Sequence[float]],
    bounded: tuple[str, ...] = (),
    verdict: CellVerdict = "valid",
) -> Measured:
    summary = CellSummary(key, {"group": key}, verdict, (), 9, {}, lower_bounds=bounded)
    return Measured(summary, {name: dict(enumerate(each)) for name, each in values.items()})


def noisy(mean: float, blocks: int = 8, noise: float = 0.002, seed: int = 1) -> list[float]:
    return list(mean * np.exp(np.random.default_rng(seed).normal(0, noise, blocks)))


def test_the_best_by_the_measure_is_the_first() -> None:
    cells = [cell("a", {COST: noisy(300, seed=1)}), cell("b", {COST: noisy(200, seed=2)})]
    found = weigh(cells, {"a": 0, "b": 1}, [COST])
    assert (found.verdict, found.order, found.contenders) == ("settled", ("b", "a"), ("b",))
    assert found.cells[1].best[COST] > 0.99
    assert found.decided


def test_a_rate_that_is_a_lower_bound_gives_way_to_the_cost() -> None:
    cells = [
        cell("a", {RATE: noisy(900, seed=1), COST: noisy(300, seed=2)}, (RATE,)),
        cell("b", {RATE: noisy(100, seed=3), COST: noisy(200, seed=4)}),
    ]
    found = weigh(cells, {"a": 0, "b": 0}, [RATE, COST])
    assert (found.measure, found.order[0]) == (COST, "b")


def test_of_those_that_cannot_be_set_apart_the_safest_is_first() -> None:
    cells = [cell(k, {COST: noisy(m, seed=s)}) for k, m, s in (("a", 200, 1), ("b", 200.1, 2))]
    cells.append(cell("c", {COST: noisy(300, seed=3)}))
    found = weigh(cells, {"b": 0, "a": 1, "c": 2}, [COST])
    assert found.verdict == "equal"
    assert found.order == ("b", "a", "c")
    assert found.may_differ is not None
    assert found.may_differ < 0.01


def test_wide_intervals_leave_the_order_to_the_policies() -> None:
    cells = [cell(k, {COST: noisy(200, noise=0.5, seed=s)}) for k, s in (("a", 1), ("b", 2))]
    found = weigh(cells, {"b": 0, "a": 1}, [COST])
    assert (found.verdict, found.order, found.decided) == ("cannot_tell", ("b", "a"), False)


def test_among_some_that_are_open_the_others_are_last() -> None:
    cells = [cell(k, {COST: noisy(200, noise=0.2, seed=s)}) for k, s in (("a", 1), ("b", 2))]
    cells.append(cell("c", {COST: noisy(2000, seed=3)}))
    found = weigh(cells, {"c": 0, "b": 1, "a": 2}, [COST])
    assert (found.verdict, found.order) == ("open", ("b", "a", "c"))


@pytest.mark.parametrize("blocks", [1, 4])
def test_few_blocks_give_no_probability(blocks: int) -> None:
    cells = [cell(k, {COST: noisy(m, blocks)}) for k, m in (("a", 900), ("b", 100))]
    found = weigh(cells, {"a": 0, "b": 1}, [COST])
    assert (found.verdict, found.blocks, found.order) == ("too_few", blocks, ("a", "b"))
    assert found.cells[0].best == {}
    assert found.cells[0].on_front is None


def test_without_the_measure_nothing_decides() -> None:
    found = weigh([cell("a", {COST: noisy(9)}), cell("b", {})], {"b": 0, "a": 1}, [COST])
    assert (found.verdict, found.measure, found.order) == ("not_measured", "", ("b", "a"))
    assert weigh([], {}, [COST]).order == ()


def test_only_blocks_that_all_cells_have_count() -> None:
    cells = [cell("a", {COST: noisy(300, 8)}), cell("b", {COST: noisy(200, 5)})]
    assert weigh(cells, {"a": 0, "b": 1}, [COST]).blocks == 5


def test_unmeasured_cells_are_last_in_the_order() -> None:
    cells = [cell("a", {COST: noisy(300)}), cell("b", {COST: noisy(200)})]
    cells.append(cell("bad", {}, verdict="invalid"))
    found = weigh(cells, {"bad": 0, "a": 1, "b": 2}, [COST])
    assert (found.order, found.unmeasured) == (("b", "a", "bad"), ("bad",))


def test_the_pareto_set_weighs_security_too() -> None:
    cells = [
        cell("fast", {COST: noisy(200, seed=1), BYTES: [1000.0] * 8}),
        cell("safe", {COST: noisy(300, seed=2), BYTES: [3000.0] * 8}),
        cell("neither", {COST: noisy(300, seed=3), BYTES: [3000.0] * 8}),
    ]
    found = weigh(cells, {"safe": 0, "fast": 1, "neither": 2}, [COST])
    front = {each.cell: each.on_front for each in found.cells}
    assert front["fast"] == 1.0
    assert front["safe"] == 1.0
    assert front["neither"] == 0.0


def test_a_real_looking_run_has_all_dimensions_with_the_service_time_by_block() -> None:
    cells = measured_cells(made_run(World(noise=0.005), quick=True))
    found = weigh(cells, {each.summary.key: 0 for each in cells}, ["service_ms_p99"])
    assert found.measure.startswith("service_ms_p")
    assert found.blocks == 5
    assert set(found.dimensions) <= set(DIMENSIONS)
    assert {COST, BYTES} < set(found.dimensions)
    assert sum(name.startswith("service") for name in found.dimensions) == 1
    (against,) = ratios(cells, [(found.order[0], found.order[-1], COST)])
    assert (against.ratio < 1, against.verdict) == (True, "faster")


def test_ratios_are_tested_as_one_family_and_lower_bounds_establish_what_they_can() -> None:
    cells = [
        cell("a", {RATE: noisy(100, seed=1), COST: noisy(100, seed=1)}),
        cell("b", {RATE: noisy(300, seed=2), COST: noisy(101, noise=0.02, seed=2)}, (RATE,)),
        cell("c", {RATE: noisy(50, seed=3), COST: noisy(300, seed=3)}, (RATE,)),
        cell("d", {}),
    ]
    wanted = [("a", "b", RATE), ("a", "c", RATE), ("a", "b", COST), ("a", "d", COST)]
    found = {(each.baseline, each.estimate): each for each in ratios(cells, wanted)}
    assert len(found) == 3
    assert found["b", RATE].verdict == "slower"
    assert found["c", RATE].verdict == "not_comparable"
    first = found["b", RATE]
    assert first.p is not None
    assert first.adjusted_p == pytest.approx(min(1.0, 2 * first.p))


def test_the_first_beats_those_that_it_is_detectably_better_than() -> None:
    cells = [cell(k, {COST: noisy(m, seed=s)}) for k, m, s in (("a", 200, 1), ("b", 200.1, 2))]
    cells.append(cell("c", {COST: noisy(300, seed=3)}))
    found = weigh(cells, {"a": 0, "b": 1, "c": 2}, [COST])
    assert (found.order[0], found.beaten) == ("a", ("c",))
