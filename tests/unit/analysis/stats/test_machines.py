"""Blocks of several machines: the mean's interval holds for them, or for any if they disagree."""

import numpy as np
import pytest

from tlslab.analysis.stats.estimate import mean_interval
from tlslab.analysis.stats.machines import Block, disagreement, machines_of, spread_out

SIZES = (3, 4, 3)
MACHINES = tuple(machine for machine, size in enumerate(SIZES) for _ in range(size))


def test_a_block_is_its_number_and_knows_its_machine() -> None:
    values: dict[int, float] = {Block(4, 1): 2.0}
    assert values[4] == 2.0
    assert machines_of(values) == (1,)
    assert machines_of((4, Block(5, 2))) == (0, 2)


def test_one_machine_changes_nothing() -> None:
    data = np.array([0.1, 0.3, 0.2])
    assert spread_out(data, (0, 0, 0)) is data
    assert disagreement(data, (0, 0, 0)) is None


def test_with_a_machine_for_each_block_nothing_is_tested() -> None:
    data = np.array([0.1, 0.3, 0.2])
    assert disagreement(data, (0, 1, 2)) is None
    assert spread_out(data, (0, 1, 2)) is data


def test_machines_that_disagree_widen_the_interval_and_keep_the_mean() -> None:
    data = np.array([1.0, 1.1, 0.9, 5.0, 5.1, 4.9, 3.0, 3.1, 2.9])
    machines = (0, 0, 0, 1, 1, 1, 2, 2, 2)
    apart = spread_out(data, machines)
    assert apart.mean() == pytest.approx(data.mean())
    # As three machines' means alone: 3 +- t(2) * 2 / sqrt(3), by the variance of balanced groups.
    half = 4.303 * 2.0 / 3**0.5
    _, interval, _ = mean_interval(apart)
    assert interval is not None
    assert interval[1] - data.mean() >= 0.98 * half


@pytest.mark.parametrize("between", [0.0, 0.5, 2.0])
def test_the_interval_holds_for_the_machines_of_the_run(between: float) -> None:
    draw = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        own = draw.normal(0, between, len(SIZES))[list(MACHINES)]
        data = spread_out(own + draw.normal(0, 1, len(own)), MACHINES)
        n, spread = len(data), data.std(ddof=1)
        held += abs(data.mean() - own.mean()) <= 2.262 * spread / n**0.5
    assert held >= 0.93 * 400


def test_equal_machines_seldom_disagree() -> None:
    draw = np.random.default_rng(8)
    found = [disagreement(draw.normal(0, 1, len(MACHINES)), MACHINES) for _ in range(400)]
    assert 0.02 * 400 <= sum(p is not None and p <= 0.05 for p in found) <= 0.09 * 400


def test_the_interval_of_a_run_is_none_for_machines_that_were_not_there() -> None:
    draw = np.random.default_rng(9)
    held = 0
    for _ in range(400):
        own = draw.normal(0, 1.0, len(SIZES))[list(MACHINES)]
        data = own + draw.normal(0, 1, len(own))
        held += abs(data.mean()) <= 2.262 * data.std(ddof=1) / len(data) ** 0.5
    assert held < 0.85 * 400
