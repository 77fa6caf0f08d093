"""Fits under autocorrelated noise."""

import numpy as np
import pytest

from factories.noise import ar1
from tlslab.domain.autoregression import fit, mean_error


def test_independent_noise_is_ordinary_least_squares() -> None:
    x = np.array([0.0, 1, 2, 3, 4])
    y = np.array([1.0, 3, 2, 5, 4])
    fits = fit(y, np.column_stack([np.ones(5), x]), (0.0, 0.5))
    slope, level = np.polyfit(x, y, 1)
    assert fits.parameters[0] == pytest.approx([level, slope])
    residual = y - level - slope * x
    error = (residual @ residual / 3 / np.square(x - 2).sum()) ** 0.5
    assert fits.errors[0, 1] == pytest.approx(error)
    assert fits.parameters.shape == (2, 2)


def test_the_likelihood_is_highest_near_the_coefficient_that_made_the_noise() -> None:
    for coefficient in (0.0, 0.4, 0.8):
        values = ar1(np.random.default_rng(3), 2000, coefficient, 1.0)
        fits = fit(values, np.ones((2000, 1)))
        best = fits.coefficients[int(fits.log_restricted().argmax())]
        assert best == pytest.approx(coefficient, abs=0.06)


def test_the_error_of_a_mean() -> None:
    values = ar1(np.random.default_rng(1), 5000, 0.8, 1.0)
    # The long-run standard deviation is sqrt((1 + f) / (1 - f)) = 3 times that of the values.
    assert mean_error(list(values)) == pytest.approx(3 / 5000**0.5, rel=0.15)
    assert mean_error([2.0, 2.0, 2.0]) == 0.0
    with pytest.raises(ValueError, match="three values"):
        mean_error([1.0, 2.0])
