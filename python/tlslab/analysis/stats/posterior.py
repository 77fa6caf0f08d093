"""Draws of the means of cells that were measured in the same blocks. Pure.

The Bayesian bootstrap (Rubin 1981, "The Bayesian Bootstrap"): each draw gives every block a random
weight, the same for all cells, so that effects of a block on all cells cancel. With few blocks the
draws lie too close together. Each draw is therefore stretched around the means, by one factor for
all cells, so that the difference of two cells has the spread of Student's t with n - 1 degrees of
freedom, like the intervals of `stats.estimate`.
"""

import numpy as np

from tlslab.analysis.stats.estimate import Array

DRAWS = 10_000

# With fewer blocks the spread between them is too uncertain for a probability.
LEAST_BLOCKS = 5

# The draws depend on the values alone: the same run folder gives the same probabilities.
_SEED = 20_210_401


def draws_of_means(values: Array) -> Array:
    """`DRAWS` x cells from `values`, cells x blocks. Raises ValueError for one block."""
    blocks = values.shape[1]
    if blocks < 2:
        raise ValueError("a spread needs two blocks")
    rng = np.random.default_rng(_SEED)
    weights = rng.dirichlet(np.ones(blocks), size=DRAWS)
    means = values.mean(axis=1)
    deviations = weights @ (values - means[:, None]).T
    # The weighted mean has the variance s^2 (n - 1) / (n (n + 1)); wanted is s^2 / n, times
    # (n - 1) / chi^2.
    stretch = np.sqrt((blocks + 1) / rng.chisquare(blocks - 1, size=DRAWS))
    return np.asarray(means + deviations * stretch[:, None])


def probability_of_least(draws: Array) -> Array:
    """For each cell, the share of draws in which it is the least; ties share a draw."""
    least = draws == draws.min(axis=1, keepdims=True)
    return np.asarray((least / least.sum(axis=1, keepdims=True)).mean(axis=0))


def credible(probabilities: Array, level: float) -> list[int]:
    """The smallest set that contains the best cell with probability `level`, likeliest first."""
    order = sorted(range(len(probabilities)), key=lambda cell: -float(probabilities[cell]))
    held, found = 0.0, []
    for cell in order:
        found.append(cell)
        held += float(probabilities[cell])
        if held >= level - 1e-9:
            break
    return found


def probability_on_front(dimensions: list[Array], tolerance: float) -> Array:
    """For each cell, the share of draws in which no other cell dominates it.

    `dimensions` are draws of logarithms; less is better. One cell dominates another if it is no
    worse in any dimension and better in one; a difference of less than `tolerance` counts as none.
    """
    count = dimensions[0].shape[1]
    dominated = np.zeros(dimensions[0].shape, dtype=bool)
    for other in range(count):
        no_worse = np.ones(dominated.shape, dtype=bool)
        better = np.zeros(dominated.shape, dtype=bool)
        for draws in dimensions:
            gain = draws - draws[:, [other]]
            no_worse &= gain >= -tolerance
            better |= gain > tolerance
        dominated |= no_worse & better
    return np.asarray((~dominated).mean(axis=0))
