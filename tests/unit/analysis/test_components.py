"""Components of the noise: simulated ones are recovered, with the stated coverage."""

import math

import numpy as np
import pytest

from tlslab.analysis.components import Components, components

TRIAL, START, BLOCK = 0.02, 0.03, 0.10
RUNS = 2000
EVEN = (5, 5, 5, 5)
UNEVEN = (2, 4, 6, 8)


def drawn(
    cells: tuple[int, ...], blocks: int, rng: np.random.Generator, start: float = START
) -> Components:
    """Of deployments with N cells each."""
    logs, starts = {}, {}
    shared = rng.normal(0, BLOCK, blocks)
    for deployment, count in enumerate(cells):
        of_start = shared + rng.normal(0, start, blocks)
        for number in range(count):
            name = f"{deployment}/{number}"
            starts[name] = deployment
            own = rng.normal(0, 1) + of_start + rng.normal(0, TRIAL, blocks)
            logs[name] = own.tolist()
    found = components(logs, starts)
    assert found is not None
    return found


@pytest.mark.simulation
@pytest.mark.parametrize("cells", [EVEN, UNEVEN])
@pytest.mark.parametrize("blocks", [2, 4])
def test_simulated_components_are_recovered(cells: tuple[int, ...], blocks: int) -> None:
    rng = np.random.default_rng(20_251_125)
    found = [drawn(cells, blocks, rng) for _ in range(RUNS)]
    trials = np.array([each.trial.value for each in found])
    starts = np.array([each.start.value for each in found if each.start is not None])
    assert len(starts) == RUNS
    for values, true in ((trials, TRIAL**2), (starts, START**2)):
        error = values.std() / math.sqrt(RUNS)
        # Cut off at zero, the component of the start is slightly too large on average.
        assert abs(values.mean() - true) <= 4 * error + 0.02 * true
    inside = sum(each.trial.low <= TRIAL**2 <= each.trial.high for each in found)
    # 95 %, within three standard errors of 2,000 simulations.
    assert abs(inside / RUNS - 0.95) <= 0.015
    inside = sum(
        each.start.low <= START**2 <= each.start.high for each in found if each.start is not None
    )
    assert 0.935 <= inside / RUNS <= 0.985


def test_no_difference_between_starts_is_found_as_none() -> None:
    rng = np.random.default_rng(3)
    found = [drawn(EVEN, 3, rng, start=0.0).start for _ in range(500)]
    assert all(each is not None for each in found)
    at_zero = sum(each is not None and each.low == 0 for each in found)
    assert at_zero / 500 >= 0.95


def test_with_one_deployment_the_start_is_in_the_block() -> None:
    rng = np.random.default_rng(4)
    found = [drawn((6,), 3, rng, start=1.0) for _ in range(500)]
    assert all(each.start is None for each in found)
    mean = float(np.mean([each.trial.value for each in found]))
    assert mean == pytest.approx(TRIAL**2, rel=0.06)


def test_with_one_cell_of_each_deployment_the_start_is_in_the_trial() -> None:
    rng = np.random.default_rng(5)
    found = [drawn((1, 1, 1, 1), 3, rng) for _ in range(1000)]
    assert all(each.start is None for each in found)
    mean = float(np.mean([each.trial.value for each in found]))
    assert mean == pytest.approx(TRIAL**2 + START**2, rel=0.06)


def test_rates_without_noise_have_no_components() -> None:
    logs = {name: [float(number)] * 3 for number, name in enumerate("abcd")}
    found = components(logs, {"a": 0, "b": 0, "c": 1, "d": 1})
    assert found is not None
    assert found.trial.value == pytest.approx(0)
    assert found.start is not None
    assert found.start.value == pytest.approx(0)


@pytest.mark.parametrize("logs", [{"a": [1.0, 2.0]}, {"a": [1.0], "b": [1.0]}])
def test_one_cell_or_one_block_says_nothing(logs: dict[str, list[float]]) -> None:
    assert components(logs, {"a": 0, "b": 0}) is None
