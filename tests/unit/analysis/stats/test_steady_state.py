"""Labels of rates over time, on series whose truth is known."""

import numpy as np
import pytest

from tlslab.analysis.stats.steady_state import (
    Label,
    _joined,
    _Level,
    _levels,
    _mser_cuts,
    classify,
    rates,
)
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
    assert rates([*slices, Interval(0.3, 0.05, 2, 0, cpu)]) == pytest.approx([3000] * 3)
    assert rates([*slices, Interval(0.3, 0.06, 2, 0, cpu)])[3:] == pytest.approx([2 / 0.06])


def test_levels_begin_and_end_where_the_series_changes() -> None:
    logs = np.log(series((7, 2000), (13, 3000), noise=0.001))
    levels = _levels(logs)
    assert [level.length for level in levels] == [7, 13]
    assert levels[0].mean == pytest.approx(logs[:7].mean())
    assert levels[1].mean == pytest.approx(logs[7:].mean())


def test_a_level_has_three_slices_at_least() -> None:
    levels = _levels(np.log(series((40, 3000), (2, 1500), (40, 3000), noise=0.02)))
    assert len(levels) > 1
    assert min(level.length for level in levels) >= 3


def test_levels_that_are_joined_count_by_their_lengths() -> None:
    assert _joined(_Level(2, 1.0), _Level(6, 2.0)) == _Level(8, 1.75)


def test_mser_cuts_off_what_raises_the_standard_error() -> None:
    """By the marginal standard error, the sum of squares over the square of the number."""
    even = np.array([1.0, -1.0] * 8)
    assert not _mser_cuts(even)
    assert _mser_cuts(np.concatenate([[8.0], even]))
    # A level that differs this little is worth a cut by the variance, and not by a higher power.
    assert _mser_cuts(np.concatenate([[2.0] * 3, even[:13]]))


def test_mser_takes_batches_of_five_from_fifty_slices_on() -> None:
    """In batches a noisy start whose mean is that of the rest is none."""
    batches = [np.array([5.0, -5.0, 5.0, -5.0, 0.0])] * 2 + [
        np.array([1.0, -1.0, 1.0, -1.0, 0.0])
    ] * 8
    assert not _mser_cuts(np.concatenate(batches))
    assert not _mser_cuts(np.concatenate([*batches, [1.0, -1.0]]))
    assert _mser_cuts(np.concatenate(batches)[:49])
