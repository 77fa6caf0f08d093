"""Shares over trials: the interval lies within 0 and 1, and has the stated coverage."""

import numpy as np
import pytest

from tlslab.analysis.stats.share import share


@pytest.mark.parametrize(
    "values", [(0.41, 0.42), (0.001, 0.2), (0.9, 0.99, 0.7), (0.0, 0.6), (0.3, 1.0)]
)
def test_both_ends_are_shares(values: tuple[float, ...]) -> None:
    found = share(values)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low < found.value < found.high <= 1


def test_log_odds_are_symmetric() -> None:
    """The share that failed and the share that did not are the same measurement."""
    failed, answered = share((0.2, 0.3, 0.25)), share((0.8, 0.7, 0.75))
    assert failed.value == pytest.approx(1 - answered.value)
    assert failed.low == pytest.approx(1 - (answered.high or 0))


def test_an_end_beyond_0_or_1_is_cut_and_says_so() -> None:
    found = share((0.0, 0.0, 0.5))
    assert found.value == pytest.approx(0.5 / 3)
    assert found.low == 0
    assert "cut" in found.method


def test_equal_and_single_values() -> None:
    assert share((0.0, 0.0)).high == 0
    assert share((0.5,)).low is None


@pytest.mark.parametrize("values", [(1.01,), (-0.1, 0.5)])
def test_values_outside_0_to_1_are_refused(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="not shares"):
        share(values)


@pytest.mark.simulation
def test_the_interval_covers_the_true_share() -> None:
    """Three trials around odds of 0.4: 95 % of 2,000 intervals, within two percentage points."""
    draw = np.random.default_rng(11)
    odds = np.log(0.4 / 0.6) + draw.normal(0, 0.5, (2_000, 3))
    found = [share(tuple(1 / (1 + np.exp(-row)))) for row in odds]
    covered = sum((f.low or 0) <= 0.4 <= (f.high or 1) for f in found) / len(found)
    assert covered == pytest.approx(0.95, abs=0.02)
