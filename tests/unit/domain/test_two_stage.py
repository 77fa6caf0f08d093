"""Stein's two-stage procedure."""

import math

import numpy as np
import pytest

from tlslab.analysis.stats.estimate import estimate, mean_interval, two_stage_estimate
from tlslab.domain.two_stage import half_width, repetitions


def test_a_wider_spread_asks_for_more_repetitions() -> None:
    assert repetitions([100.0, 100.1, 99.9], 0.05, 6) == 3
    some = repetitions([100.0, 103.0, 97.0], 0.05, 60)
    assert 3 < some < 60
    assert repetitions([100.0, 120.0, 80.0], 0.05, 6) == 6
    assert repetitions([100.0], 0.05, 6) == 6
    half = half_width([100.0, 103.0, 97.0], some)
    assert math.exp(half) - math.exp(-half) <= 0.05
    wider = half_width([100.0, 103.0, 97.0], some - 1)
    assert math.exp(wider) - math.exp(-wider) > 0.05


@pytest.mark.parametrize("first", [3, 4])
def test_the_interval_holds_although_the_spread_decided_on_the_number(first: int) -> None:
    draw = np.random.default_rng(first)
    runs, inside, peeked = 4_000, 0, 0
    for _ in range(runs):
        values = np.exp(draw.normal(0, 0.02, 12))
        n = repetitions(list(values[:first]), 0.05, 12)
        found = two_stage_estimate(list(values[:n]), "1/s", first)
        assert found.n == n
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= 1 <= found.high
        # The earlier rule: an ordinary interval that is tested until it is narrow.
        for count in range(first, 13):
            old = estimate(list(values[: min(count, 7)]), "1/s")
            assert old.low is not None
            assert old.high is not None
            if old.high - old.low <= 0.05 or count >= 7:
                peeked += old.low <= 1 <= old.high
                break
    assert 0.94 <= inside / runs <= 0.965
    assert peeked / runs < inside / runs


@pytest.mark.parametrize("spread", [0.01, 0.02, 0.08])
def test_two_equal_maxima_differ_in_one_comparison_of_twenty(spread: float) -> None:
    """Each cell's spread determines its number of trials; the pairs that both have are compared."""
    draw = np.random.default_rng(round(spread * 1000))
    runs, missed = 2_000, 0
    for _ in range(runs):
        cells = []
        for _ in range(2):
            values = np.exp(draw.normal(0, spread, 6))
            cells.append(np.log(values[: repetitions(list(values[:3]), 0.05, 6)]))
        pairs = min(len(cell) for cell in cells)
        _, interval, _ = mean_interval(cells[0][:pairs] - cells[1][:pairs], "log ratios")
        assert interval is not None
        missed += not interval[0] <= 0 <= interval[1]
    assert missed / runs <= 0.065
