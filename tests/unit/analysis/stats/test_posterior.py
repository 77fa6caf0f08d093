"""Probabilities from few blocks: paired, seeded, and consistent with Student's t."""

import numpy as np
import pytest

from tlslab.analysis.stats.estimate import Array
from tlslab.analysis.stats.posterior import (
    LEAST_BLOCKS,
    credible,
    draws_of_means,
    probability_of_least,
    probability_on_front,
)


def test_the_same_values_give_the_same_draws() -> None:
    values = np.array([[1.0, 1.1, 0.9, 1.0, 1.05], [1.2, 1.3, 1.1, 1.25, 1.2]])
    assert (draws_of_means(values) == draws_of_means(values)).all()
    with pytest.raises(ValueError, match="two blocks"):
        draws_of_means(values[:, :1])


def test_an_effect_of_the_block_on_all_cells_cancels_out() -> None:
    rng = np.random.default_rng(3)
    blocks = rng.normal(0, 0.5, 6)
    values = np.array([blocks + rng.normal(0, 0.01, 6), 0.1 + blocks + rng.normal(0, 0.01, 6)])
    assert probability_of_least(draws_of_means(values))[0] > 0.999


def test_the_spread_of_a_difference_is_that_of_student_s_t() -> None:
    rng = np.random.default_rng(5)
    values = np.vstack([np.zeros(12), rng.normal(0, 1, 12)])
    draws = draws_of_means(values)
    difference = draws[:, 1] - draws[:, 0]
    s = float(values[1].std(ddof=1))
    # The standard deviation of t with 11 degrees of freedom is sqrt(11 / 9).
    assert difference.std() == pytest.approx(s / np.sqrt(12) * np.sqrt(11 / 9), rel=0.05)


@pytest.mark.simulation
@pytest.mark.parametrize("blocks", [LEAST_BLOCKS, 10])
def test_of_two_equal_cells_one_is_called_the_best_as_rarely_as_it_says(blocks: int) -> None:
    rng = np.random.default_rng(7)
    tries, sure = 200, 0
    for _ in range(tries):
        values = rng.normal(0, 1, (2, blocks))
        sure += bool(probability_of_least(draws_of_means(values)).max() > 0.95)
    # A probability of over 95 % for either of two equal cells: in one of ten runs.
    assert sure / tries < 0.17


def test_equal_cells_share_a_draw() -> None:
    values = np.array([[1.0] * 5, [1.0] * 5, [2.0] * 5])
    assert probability_of_least(draws_of_means(values)).tolist() == [0.5, 0.5, 0.0]


def test_the_credible_ones_are_the_fewest_that_hold_the_level() -> None:
    assert credible(np.array([0.02, 0.9, 0.08]), 0.95) == [1, 2]
    assert credible(np.array([0.0, 1.0]), 0.95) == [1]


def test_a_cell_is_dominated_by_one_that_is_no_worse_in_all_and_better_in_one() -> None:
    def constant(*values: float) -> Array:
        return np.tile(np.array(values), (4, 1))

    cost, size = constant(0.0, 0.3, 0.301), constant(0.5, 0.0, 0.3)
    assert probability_on_front([cost, size], 0.02).tolist() == [1.0, 1.0, 0.0]
    # Within the tolerance no cell is better than another.
    assert probability_on_front([constant(0.0, 0.01)], 0.02).tolist() == [1.0, 1.0]
