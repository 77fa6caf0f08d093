"""Labels of rates over time, on series with known truth."""

from collections.abc import Sequence

import numpy as np
import pytest

from factories.noise import Tails, ar1
from tlslab.analysis.stats.steady_state import Label, _explained, classify, joined, rates
from tlslab.contract.record import CpuTime, Interval


def series(*levels: tuple[int, float], noise: float = 0.015, seed: int = 0) -> list[float]:
    """Slices of given lengths and levels, with noise."""
    rng = np.random.default_rng(seed)
    flat = np.concatenate([np.full(length, level) for length, level in levels])
    return list(flat * np.exp(rng.normal(0, noise, len(flat))))


@pytest.mark.parametrize(
    ("levels", "label"),
    [
        ([(20, 3000)], "flat"),
        ([(5, 2000), (15, 3000)], "warm_up"),
        ([(12, 3000), (8, 2400)], "slowdown"),
        ([(7, 3000), (6, 2000), (7, 3000)], "unstable"),
        ([(15, 2000), (5, 3000)], "unstable"),
        ([(9, 3000)], "too_short"),
        ([(10, 3000)], "flat"),
        ([(20, 0.5)], "flat"),
        ([(10, 2000), (10, 3000)], "warm_up"),
        ([(10, 3000), (10, 0)], "unstable"),
        ([(100, 3000)], "flat"),
        ([(70, 3000), (30, 2500)], "slowdown"),
        ([(20, 2000), (80, 3000)], "warm_up"),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_labels(levels: list[tuple[int, float]], label: Label, seed: int) -> None:
    assert classify(series(*levels, seed=seed)) == label


@pytest.mark.simulation
@pytest.mark.parametrize("noise", [0.005, 0.02, 0.05])
def test_a_flat_series_is_seldom_called_otherwise(noise: float) -> None:
    found = [classify(series((20, 3000), noise=noise, seed=seed)) for seed in range(300)]
    assert found.count("flat") >= 0.95 * len(found)


def labels(
    n: int, coefficient: float, sd: float, times: int, tails: Tails = "normal", change: float = 0.0
) -> list[Label]:
    """Labels of series on a line whose logarithm changes by `change` from start to end."""
    line = np.linspace(0, change, n)
    rngs = map(np.random.default_rng, range(times))
    return [classify(list(3000 * np.exp(line + ar1(r, n, coefficient, sd, tails)))) for r in rngs]


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("coefficient", "tails"),
    [(0.3, "normal"), (0.5, "normal"), (0.8, "normal"), (0.5, "t3"), (0.5, "bursts")],
)
def test_autocorrelation_is_not_called_a_change(coefficient: float, tails: Tails) -> None:
    """Of 1,000 series without any change, at most 5 % get another label."""
    found = labels(20, coefficient, 0.05, 1000, tails)
    assert found.count("flat") >= 950


@pytest.mark.simulation
@pytest.mark.parametrize("coefficient", [0.3, 0.5, 0.8])
@pytest.mark.parametrize(("at", "label"), [(0.25, "warm_up"), (0.6, "slowdown")])
def test_a_change_of_five_percent_is_found(coefficient: float, at: float, label: Label) -> None:
    n, times, found = 20, 100, 0
    for seed in range(times):
        logs = ar1(np.random.default_rng(seed), n, coefficient, 0.0075)
        logs[: int(at * n)] += -0.05 if label == "warm_up" else 0.05
        found += classify(list(3000 * np.exp(logs))) == label
    assert found >= 0.9 * times


@pytest.mark.simulation
@pytest.mark.parametrize("coefficient", [0.3, 0.5, 0.8])
def test_a_drift_of_five_percent_is_found_and_one_of_one_percent_is_not(coefficient: float) -> None:
    assert labels(50, coefficient, 0.005, 100, change=-0.05).count("slowdown") >= 90
    assert labels(50, coefficient, 0.005, 100, change=0.05).count("unstable") >= 90
    assert labels(50, coefficient, 0.005, 100, change=-0.01).count("flat") >= 95


def test_a_drift_too_small_to_matter_is_flat() -> None:
    assert classify(series((10, 3000), (10, 2920), noise=0.001)) == "flat"


def test_a_cut_off_last_slice_is_left_out() -> None:
    cpu = CpuTime(1, 1)
    slices = [Interval(0.1 * i, 0.1, 300, 0, cpu) for i in range(3)]
    assert rates([*slices, Interval(0.3, 0.01, 2, 0, cpu)]) == pytest.approx([3000] * 3)
    assert rates([]) == []
    assert rates([*slices, Interval(0.3, 0.05, 2, 0, cpu)]) == pytest.approx([3000] * 3)
    assert rates([*slices, Interval(0.3, 0.06, 2, 0, cpu)])[3:] == pytest.approx([2 / 0.06])


def slow(counts: Sequence[int]) -> list[Interval]:
    return [Interval(0.1 * at, 0.1, count, 0, CpuTime(1, 1)) for at, count in enumerate(counts)]


def test_slices_of_a_slow_server_are_joined() -> None:
    # 4.5 in a slice on average: three are joined, and the two that remain are left out.
    counts = [5, 4, 0, 9, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5]
    assert rates(slow(counts)) == pytest.approx([9 / 0.3, 18 / 0.3, 13 / 0.3, 14 / 0.3])
    assert [len(each) for each in joined(slow(counts))] == [3, 3, 3, 3]
    assert rates(slow([0, 0])) == [0, 0]
    assert rates(slow([1, 2])) == []


def test_a_slow_server_whose_slices_have_few_connections_is_steady() -> None:
    rng = np.random.default_rng(7)
    found = [classify(rates(slow(rng.poisson(4.4, 60).tolist()))) for _ in range(200)]
    assert found.count("flat") >= 190
    stalled = [*rng.poisson(4.4, 100), *[0] * 60, *rng.poisson(4.4, 100)]
    assert classify(rates(slow([int(count) for count in stalled]))) == "unstable"


@pytest.mark.parametrize(("slices", "label"), [(1, "flat"), (2, "flat"), (4, "unstable")])
def test_a_burst_of_two_slices_is_no_level(slices: int, label: Label) -> None:
    logs = series((40, 3000), (slices, 1500), (40, 3000), noise=0.02)
    assert classify(logs) == label
    levels, _ = _explained(np.log(logs))
    assert min(level.length for level in levels) >= 3


@pytest.mark.parametrize(
    ("dips", "label"),
    [([(30, 0.85)], "flat"), ([(30, 0.85)] * 3, "unstable"), ([(150, 0.95)], "unstable")],
)
def test_a_dip_is_a_level_only_if_it_moves_the_mean_of_the_run(
    dips: list[tuple[int, float]], label: Label
) -> None:
    """Of 600 slices, 30 that are 15 % lower move the mean by 0.8 %."""
    between = (600 - sum(length for length, _ in dips)) // (len(dips) + 1)
    levels = [(between, 3000.0)]
    for length, factor in dips:
        levels += [(length, 3000 * factor), (between, 3000.0)]
    assert classify(series(*levels)) == label


def test_a_short_level_between_two_others_hides_no_step() -> None:
    assert classify(series((300, 3000), (5, 2900), (295, 2800))) == "slowdown"
