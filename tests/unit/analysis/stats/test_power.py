"""The number of values that excludes a difference, by simulation."""

import math

import numpy as np
import pytest

from tlslab.analysis.stats.estimate import CONFIDENCE, Spread
from tlslab.analysis.stats.power import POWER, detectable, excludable

RUNS = 4000


@pytest.mark.parametrize("n", [6, 12, 40])
@pytest.mark.parametrize("measures", [1, 2])
def test_equal_things_are_said_to_be_equal_nine_times_in_ten(n: int, measures: int) -> None:
    noise = 0.05
    margin = math.log1p(excludable(noise, n, measures))
    values = np.random.default_rng(n).normal(0, noise, (RUNS, measures, n))
    width = Spread(1.0, n - 1).quantile((1 + CONFIDENCE) / 2) / math.sqrt(n)
    reach = np.abs(values.mean(axis=2)) + width * values.std(axis=2, ddof=1)
    within = float((reach < margin).all(axis=1).mean())
    assert POWER - 0.05 < within < POWER + 0.06


def test_to_exclude_takes_more_than_to_find() -> None:
    assert excludable(0.05, 20, 2) > excludable(0.05, 20, 1) > detectable(0.05, 20)


def test_one_value_excludes_nothing() -> None:
    with pytest.raises(ValueError, match="no test"):
        excludable(0.05, 1, 2)
