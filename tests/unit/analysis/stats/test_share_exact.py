"""The interval of a proportion, and the difference that N blocks can find."""

import math

import numpy as np
import pytest
import scipy

from tlslab.analysis.stats.estimate import p_value
from tlslab.analysis.stats.power import detectable
from tlslab.analysis.stats.share import proportion_interval


def test_the_interval_is_that_of_the_published_tables() -> None:
    # None of 10: 1 - 0.025^(1/10).
    assert list(proportion_interval(0, 10)) == pytest.approx([0.0, 1 - 0.025**0.1])
    assert list(proportion_interval(10, 10)) == pytest.approx([0.025**0.1, 1.0])
    assert proportion_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("n", [5, 20, 100])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.5])
def test_the_interval_holds_the_share_in_95_of_100_cases(n: int, share: float) -> None:
    intervals = [proportion_interval(k, n) for k in range(n + 1)]
    held = [k for k, (low, high) in enumerate(intervals) if low <= share <= high]
    assert sum(scipy.stats.binom.pmf(k, n, share) for k in held) >= 0.95


def test_more_found_than_tried_is_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        proportion_interval(3, 2)


@pytest.mark.simulation
@pytest.mark.parametrize("n", [3, 5, 15])
def test_the_detectable_difference_is_found_9_times_in_10(n: int) -> None:
    runs, noise = 2000, 0.02
    draw = np.random.default_rng(n)
    logs = draw.normal(math.log1p(detectable(noise, n)), noise, (runs, n))
    found = sum((p_value(each) or 1.0) <= 0.05 for each in logs)
    assert 0.87 <= found / runs <= 0.93


def test_one_block_has_no_test() -> None:
    with pytest.raises(ValueError, match="1 values"):
        detectable(0.01, 1)


def test_a_smaller_chance_is_a_wider_interval() -> None:
    usual, wider = proportion_interval(30, 100), proportion_interval(30, 100, 0.005)
    assert proportion_interval(30, 100, 0.05) == pytest.approx(usual)
    assert wider[0] < usual[0] < usual[1] < wider[1]
