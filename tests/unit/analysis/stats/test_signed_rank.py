"""Signed ranks: the estimate, bounds that agree with the test, and their error rates."""

import math

import numpy as np
import pytest
import scipy

from tlslab.analysis.stats.signed_rank import SignedRanks


def test_the_estimate_is_the_median_of_the_means_of_all_pairs() -> None:
    # Means: 0, 1, 2, 1/2, 1, 3/2 of 0, 1 and 2.
    assert SignedRanks(np.array([0.0, 1.0, 2.0])).centre == 1.0
    assert SignedRanks(np.array([0.0, 1.0, 8.0])).centre == pytest.approx((1.0 + 4.0) / 2)
    assert SignedRanks(np.array([3.0, 3.0, 3.0])).centre == 3.0


def test_the_p_value_is_that_of_scipy_for_moved_values() -> None:
    data = np.array([0.4, -0.1, 0.9, 0.3, 1.2, 0.7])
    expected = scipy.stats.wilcoxon(data - 0.05, alternative="greater").pvalue
    assert SignedRanks(data).p_above(0.05) == expected
    assert SignedRanks(np.zeros(6)).p_above(0.0) == 1.0


def test_the_bounds_are_where_the_verdict_of_the_test_changes() -> None:
    data = np.random.default_rng(3).normal(0, 1, 14)
    found = SignedRanks(data)
    for level in (0.05, 0.01):
        low, high = found.low(level), found.high(level)
        assert low < found.centre < high
        assert found.p_above(low - 1e-9) <= level < found.p_above(low + 1e-9)
        below = SignedRanks(-data)
        assert below.p_above(-high - 1e-9) <= level < below.p_above(-high + 1e-9)


def test_few_values_have_no_bound() -> None:
    """The least p-value of four values is 1/16."""
    four = SignedRanks(np.array([1.0, 2.0, 3.0, 5.0]))
    assert (four.low(0.05), four.high(0.05)) == (-math.inf, math.inf)
    five = SignedRanks(np.array([1.0, 2.0, 3.0, 5.0, 9.0]))
    assert (five.low(0.05), five.high(0.05)) == (1.0, 9.0)


def test_equal_values_have_equal_bounds() -> None:
    same = SignedRanks(np.full(8, 0.25))
    assert (same.low(0.05), same.centre, same.high(0.05)) == (0.25, 0.25, 0.25)


def test_one_large_value_hardly_moves_it() -> None:
    data = np.random.default_rng(5).normal(0, 0.01, 20)
    spoiled = data.copy()
    spoiled[7] = 2.0
    assert SignedRanks(spoiled).centre == pytest.approx(SignedRanks(data).centre, abs=0.002)
    assert SignedRanks(spoiled).low(0.05) >= SignedRanks(data).low(0.05)


@pytest.mark.simulation
@pytest.mark.parametrize("n", [6, 20])
@pytest.mark.parametrize("freedom", [2, 30])
def test_a_bound_is_wrong_five_times_in_a_hundred_at_most(n: int, freedom: int) -> None:
    """With Student's t of two degrees of freedom, whose variance is infinite, too."""
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(400):
        found = SignedRanks(rng.standard_t(freedom, n))
        wrong += found.low(0.05) > 0 or found.high(0.05) < 0
    # Two bounds of 5 % each: 40 at most, and twice the standard deviation.
    assert 15 <= wrong <= 40 + 12
