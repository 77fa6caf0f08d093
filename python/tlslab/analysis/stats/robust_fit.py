"""The likelihood of levels or a line for a series with heavy-tailed AR(1) noise. Pure.

The innovations have Student's t-distribution with four degrees of freedom, so that a single burst
has little weight; by least squares, the decay of a burst would pass for a level. The fit is by
iteratively reweighted least squares (Lange, Little and Taylor 1989, "Robust statistical modeling
using the t distribution", Journal of the American Statistical Association 84).
"""

import numpy as np

from tlslab.domain.autoregression import Array, transformed

_FREEDOM = 4.0

_ROUNDS = 6

_COEFFICIENTS = np.arange(10) / 10

# For a coefficient near 1 the columns of the design can almost vanish.
_RIDGE = 1e-12


def likelihood(values: Array, design: Array, least: float) -> tuple[float, Array]:
    """Twice the log-likelihood of the best fit over all coefficients, and its parameters (k,).

    `values` (n,) by the columns of `design` (n, k); up to a constant that is the same for all
    designs. `least`: the smallest plausible scale of the innovations.
    """
    n, k = design.shape
    y, x = transformed(values[:, None], _COEFFICIENTS)[..., 0], transformed(design, _COEFFICIENTS)
    weights = np.ones_like(y)
    for _ in range(_ROUNDS):
        weighted = x * weights[..., None]
        squares = np.einsum("pni,pnj->pij", weighted, x) + _RIDGE * np.eye(k)
        products = np.einsum("pni,pn->pi", weighted, y)
        parameters = np.linalg.solve(squares, products[..., None])[..., 0]
        residuals = np.square(y - np.einsum("pni,pi->pn", x, parameters))
        scale = np.maximum((weights * residuals).mean(axis=1), least**2)
        weights = (_FREEDOM + 1) / (_FREEDOM + residuals / scale[:, None])
    tails = np.log1p(residuals / (_FREEDOM * scale[:, None])).sum(axis=1)
    stationary = np.log(1 - _COEFFICIENTS**2)
    found = stationary - n * np.log(scale) - (_FREEDOM + 1) * tails
    best = int(found.argmax())
    return float(found[best]), parameters[best]
