"""Labels of rates over time, on series whose truth is known."""

import numpy as np
import pytest

from tlslab.analysis.steady_state import Label, classify, rates
from tlslab.model.record import CpuTime, Interval


def series(*levels: tuple[int, float], noise: float = 0.015, seed: int = 0) -> list[float]:
    """Slices of given lengths and levels with noise on them."""
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
        ([(10, 3000), (10, 0)], "unstable"),
        ([(100, 3000)], "flat"),
        ([(70, 3000), (30, 2500)], "slowdown"),
        ([(20, 2000), (80, 3000)], "warm_up"),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_labels(levels: list[tuple[int, float]], label: Label, seed: int) -> None:
    assert classify(series(*levels, seed=seed)) == label


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.05])
def test_a_flat_series_is_seldom_called_otherwise(noise: float) -> None:
    found = [classify(series((20, 3000), noise=noise, seed=seed)) for seed in range(300)]
    assert found.count("flat") >= 0.95 * len(found)


def test_a_drift_too_small_to_matter_is_flat() -> None:
    assert classify(series((10, 3000), (10, 2920), noise=0.001)) == "flat"


def test_a_cut_off_last_slice_is_left_out() -> None:
    cpu = CpuTime(1, 1)
    slices = [Interval(0.1 * i, 0.1, 300, 0, cpu) for i in range(3)]
    assert rates([*slices, Interval(0.3, 0.01, 2, 0, cpu)]) == pytest.approx([3000] * 3)
    assert rates([]) == []
