"""The bootstrap's intervals are those of scipy."""

import numpy as np
import pytest
import scipy

from tlslab.analysis.stats.bootstrap import RESAMPLES, SEED, bca_interval


@pytest.mark.parametrize("n", [2, 8, 10, 31])
@pytest.mark.parametrize("level", [0.95, 0.975])
def test_the_interval_is_that_of_scipy(n: int, level: float) -> None:
    draw = np.random.default_rng(n)
    # Ties, symmetric values, and skewed ones, for which the interval is not.
    several = np.round(draw.normal(0, 1, n), 1), draw.normal(5, 0.01, n), draw.exponential(1, n)
    for data in several:
        expected = scipy.stats.bootstrap(
            (data,),
            np.mean,
            method="BCa",
            confidence_level=level,
            n_resamples=RESAMPLES,
            rng=np.random.default_rng(SEED),
        ).confidence_interval
        assert bca_interval(data, level) == pytest.approx(tuple(expected), rel=1e-12, abs=1e-15)


def test_the_interval_of_skewed_values_reaches_further_to_their_long_side() -> None:
    data = np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 5.0])
    low, high = bca_interval(data, 0.95)
    assert high - data.mean() > 1.5 * (data.mean() - low)
