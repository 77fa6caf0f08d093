"""Memory per connection: the slope over levels, so that what a process needs anyway drops out."""

import numpy as np
import scipy

from tlslab.model.scale import Reading, Slope

CONFIDENCE = 0.95


def slope(what: str, connections: list[int], size: list[int]) -> Slope:
    """Bytes per connection. Two levels give no interval; fewer are refused with ValueError."""
    if len(set(connections)) < 2:
        raise ValueError("a slope needs two levels at least")
    fit = scipy.stats.linregress(np.array(connections, float), np.array(size, float))
    value, n = float(fit.slope), len(connections)
    if n < 3:
        return Slope(what, value, None, None, n)
    half = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, n - 2)) * float(fit.stderr)
    return Slope(what, value, value - half, value + half, n)


def slopes(readings: tuple[Reading, ...]) -> tuple[Slope, ...]:
    """Client, server if it was read, and kernel; none with fewer than two levels."""
    connections = [reading.connections for reading in readings]
    if len(set(connections)) < 2:
        return ()
    found = [slope("client", connections, [reading.client for reading in readings])]
    servers = [reading.server for reading in readings if reading.server is not None]
    if len(servers) == len(readings):
        found.append(slope("server", connections, servers))
    found.append(slope("kernel", connections, [reading.kernel for reading in readings]))
    return tuple(found)
