"""Memory per connection: the slope over levels, which excludes the memory of the idle process.

Neighbouring readings of one process are correlated: an allocator keeps its memory, a cache fills.
The residuals may therefore be AR(1) with any coefficient from 0 to MOST_ALIKE. Each coefficient
that the readings do not exclude at 1 % has Student's interval of 96 % by generalised least squares.
The result is the union of these intervals; it contains the true slope with at least 95 %, whatever
the coefficient is (Berger and Boos 1994, "P values maximized over a confidence set for the nuisance
parameter", Journal of the American Statistical Association 89). Long series could use the estimate
of Newey and West (1987); five readings are too few for it.
"""

import numpy as np
import scipy

from tlslab.domain.autoregression import fit
from tlslab.domain.scale import ScalePoint, Slope

CONFIDENCE = 0.95

# The part of the 5 % that is spent on excluding coefficients.
EXCLUDED = 0.01

MOST_ALIKE = 0.8

_COEFFICIENTS = tuple(round(MOST_ALIKE * step / 8, 3) for step in range(9))


def slope(what: str, connections: list[int], size: list[int]) -> Slope:
    """Bytes per connection. Two levels give no interval; fewer raise ValueError."""
    if len(set(connections)) < 2:
        raise ValueError("a slope needs two levels at least")
    x, y = np.array(connections), np.array(size)
    value, n = float(scipy.stats.linregress(x, y).slope), len(connections)
    if n < 3:
        return Slope(what, value, None, None, n)
    fits = fit(y, np.column_stack([np.ones(n), x / x.max()]), _COEFFICIENTS)
    likely = fits.log_restricted()
    kept = likely.max() - likely <= float(scipy.stats.chi2.ppf(1 - EXCLUDED, 1))
    t = float(scipy.stats.t.ppf(1 - (1 - CONFIDENCE - EXCLUDED) / 2, n - 2))
    slopes, halves = fits.parameters[kept, 1], t * fits.errors[kept, 1]
    low, high = float((slopes - halves).min()), float((slopes + halves).max())
    top = float(x.max())
    return Slope(what, value, min(low / top, value), max(high / top, value), n)


def slopes(readings: tuple[ScalePoint, ...]) -> tuple[Slope, ...]:
    """The slopes of client, server (if it was read) and kernel; none with fewer than two levels."""
    connections = [reading.connections for reading in readings]
    if len(set(connections)) < 2:
        return ()
    found = [slope("client", connections, [reading.client for reading in readings])]
    servers = [reading.server for reading in readings if reading.server is not None]
    if len(servers) == len(readings):
        found.append(slope("server", connections, servers))
    found.append(slope("kernel", connections, [reading.kernel for reading in readings]))
    return tuple(found)
