"""Least squares for series whose neighbouring values are correlated: AR(1) noise. Pure.

The noise is e[t] = f e[t-1] + innovation, with f from 0 (independent values) towards 1. A short
series leaves f uncertain: each f of a grid has a separate fit, and the caller combines the fits.
For one f the fit is generalised least squares by the transform of Prais and Winsten (1954); the
restricted likelihood is that of Harville 1977, "Maximum likelihood approaches to variance component
estimation and to related problems", Journal of the American Statistical Association 72.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# The grid ends at 0.95: with a larger f a series has no level to speak of.
COEFFICIENTS = tuple(round(0.05 * step, 2) for step in range(20))


@dataclass(frozen=True)
class Fits:
    """One fit for each of P coefficients f, to n values by k columns of the design.

    `coefficients` (P,); `parameters` and their standard `errors` (P, k); `residual` (P,), the sum
    of squares of the innovations; `information` (P,), the logarithm of the determinant of X'X,
    where X is the transformed design.
    """

    n: int
    coefficients: Array
    parameters: Array
    errors: Array
    residual: Array
    information: Array

    def log_restricted(self) -> Array:
        """Twice the logarithm of the restricted likelihood, up to a constant (P,)."""
        free = self.n - self.parameters.shape[1]
        variance = np.maximum(self.residual / free, 1e-300)
        stationary = np.log(1 - self.coefficients**2)
        return np.asarray(stationary - free * np.log(variance) - self.information)


def fit(values: Array, design: Array, coefficients: Sequence[float] = COEFFICIENTS) -> Fits:
    """Fits `values` (n,) by the columns of `design` (n, k), k < n, of full rank."""
    at = np.asarray(coefficients, dtype=np.float64)
    n, k = design.shape
    y, x = transformed(values[:, None], at)[..., 0], transformed(design, at)
    squares = np.einsum("pni,pnj->pij", x, x)
    inverse = np.linalg.inv(squares)
    parameters = np.einsum("pij,pnj,pn->pi", inverse, x, y)
    residual = np.square(y - np.einsum("pni,pi->pn", x, parameters)).sum(axis=1)
    diagonal = np.diagonal(inverse, axis1=1, axis2=2)
    errors = np.sqrt(residual[:, None] / (n - k) * diagonal)
    return Fits(n, at, parameters, errors, residual, np.linalg.slogdet(squares)[1])


def transformed(columns: Array, coefficients: Array) -> Array:
    """Columns (n, k) minus what each value carries over from its predecessor: (P, n, k)."""
    f = coefficients[:, None, None]
    rest = columns[None, 1:] - f * columns[None, :-1]
    return np.concatenate([np.sqrt(1 - f**2) * columns[None, :1], rest], axis=1)


def mean_error(values: Sequence[float]) -> float:
    """The standard error of the mean of a series whose neighbouring values may be correlated.

    The root of the mean, over all f, of the squared error at f, weighted by the likelihood of f
    given the series (Zellner and Tiao 1964, "Bayesian analysis of the regression model with
    autocorrelated errors", Journal of the American Statistical Association 59). A single estimate
    of f from a short series would usually be too low. Raises ValueError for fewer than three
    values.
    """
    data = np.asarray(values, dtype=np.float64)
    if len(data) < 3:
        raise ValueError("the error of a mean needs three values at least")
    if float(np.ptp(data)) == 0:
        return 0.0
    fits = fit(data, np.ones((len(data), 1)))
    likely = fits.log_restricted() / 2
    weights = np.exp(likely - likely.max())
    return math.sqrt(float(np.average(np.square(fits.errors[:, 0]), weights=weights)))
