"""From made-up runs of Java runtimes to the summary."""

from dataclasses import replace

import pytest

from factories.capacity import CapacityWorld, made_capacity_run
from factories.runtimes import PLAN, RULES, Warming, made_runtime
from tlslab.analysis.capacity.capacity_cell import CapacityCell, measure
from tlslab.domain.estimates import CONNECTIONS
from tlslab.domain.open_maxima import COLD
from tlslab.domain.warm_up import all_warm, warm_ups
from tlslab.studies import runtimes

STUDY = runtimes.RUNTIMES.figures()


def cell(name: str, world: CapacityWorld) -> CapacityCell:
    planned, trials = made_runtime(name, world)
    return measure(planned, trials, PLAN, made_capacity_run().environment)


@pytest.fixture(name="cells", scope="module")
def _cells() -> list[CapacityCell]:
    return [cell("jdk-17", Warming(seed=1)), cell("jdk-25", CapacityWorld(alone=1800.0, seed=2))]


def test_warm_up_is_recognised_for_each_server(cells: list[CapacityCell]) -> None:
    slow = warm_ups(cells[0].trials, RULES)
    assert len(slow) >= 3
    assert all(found.warm and len(found.rates) > 3 for found in slow)
    assert all(found.rates[0] < 0.7 * found.rates[-1] for found in slow)
    assert all(len(found.rates) == 3 for found in warm_ups(cells[1].trials, RULES))


def test_one_that_the_cap_ended_was_not_warm() -> None:
    rules = replace(RULES, most=4)
    found = warm_ups(cell("jdk-17", Warming(seed=3)).trials, rules)
    assert not any(each.warm for each in found if len(each.rates) < 4)


def test_the_table_reports_how_long_it_took(cells: list[CapacityCell]) -> None:
    table = runtimes.warm_up_table(cells, PLAN)[0]
    assert [row[0] for row in table.rows] == ["jdk-17", "jdk-25"]
    assert table.rows[0][4] == f"{table.rows[0][1]} of {table.rows[0][1]}"


def test_overload_is_drawn_over_time_for_each_load(cells: list[CapacityCell]) -> None:
    found = {figure.id: figure for figure in runtimes.figures(cells, PLAN)}
    assert "warm-up" in found
    for part in ("at-once", "time", "failed"):
        for load in ("50", "120"):
            assert [s.name for s in found[f"overload-{part}-{load}"].series] == ["jdk-17", "jdk-25"]
    assert found["overload-at-once-120"].series[0].y == (10.0, 20.0, 30.0, 40.0)


def test_httperfs_block_is_there_for_each_runtime_and_load(cells: list[CapacityCell]) -> None:
    blocks = runtimes.blocks(cells)
    assert len(blocks) == len({block.id for block in blocks}) == 4
    assert "<=40 concurrent connections" in blocks[0].text


def test_the_study_stands_beside_ours_as_ratios(cells: list[CapacityCell]) -> None:
    table = runtimes.published(cells, STUDY)
    assert [row[0] for row in table.rows] == [
        "JDK 1.4.2_06 (2008)", "JDK 1.5.0_15 (2008)", "jdk-17", "jdk-25",
    ]  # fmt: skip
    ratios = [row[1] for row in table.rows]
    assert ratios[0] == ratios[2] == 1.0
    assert ratios[1] == pytest.approx(35 / 24)
    assert ratios[3] == pytest.approx(2.0, rel=0.05)


def test_a_ratio_of_a_lower_bound_is_called_one() -> None:
    known = cell("jdk-17", CapacityWorld(seed=1))
    bound = cell("jdk-25", CapacityWorld(alone=1800.0, client_us=400.0, seed=2))
    ratio = runtimes.published([known, bound], STUDY).rows[-1][1]
    assert str(ratio).startswith("at least ")
    ratio = runtimes.published([bound, known], STUDY).rows[-1][1]
    assert str(ratio).startswith("at most ")


def test_a_server_that_was_not_found_warm_leaves_its_maximum_open() -> None:
    """With rules that no rate satisfies: the warm-up then ended at its limit."""
    planned, trials = made_runtime("jdk-17", Warming(seed=1))
    strict = replace(RULES, width=1e-6)
    where = made_capacity_run().environment
    known = measure(planned, trials, PLAN, where)
    assert (known.open, known.summary.left_open) == ((), {})
    cold = measure(planned, trials, replace(PLAN, warm_up=strict), where)
    assert cold.open == (COLD,)
    assert cold.summary.left_open[CONNECTIONS] == "not every server was found warm"
    assert (cold.is_comparable, cold.open_label) == (False, "not warm")
    assert CONNECTIONS in cold.summary.lower_bounds
    assert all_warm(trials, [], strict)
