"""Simulated servers with known response times: M/M/1, M/D/1, M/G/2. The mean service time is 1."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# The number of requests dropped from the start of each trial, when the server is empty.
WARM_UP = 500

# The number of trials of a simulation that stands in for a missing formula.
_REFERENCE = 2_000


@dataclass(frozen=True)
class Kind:
    """A queue with one line: the distribution of service times, and the number of servers."""

    name: str
    service: str
    servers: int = 1

    def mean(self, load: float) -> float:
        """The mean response time (Pollaczek and Khinchine for one server)."""
        if self.servers > 1:
            return float(_reference(self, load).mean())
        squared = 2.0 if self.service == "exponential" else 1.0
        return 1 + load * squared / (2 * (1 - load))

    def quantile(self, load: float, p: float) -> float:
        """A quantile of the response time."""
        if self.servers > 1:
            return float(np.quantile(_reference(self, load), p))
        if self.service == "exponential":
            return -math.log(1 - p) / (1 - load)
        # Further up, the sum is lost in rounding.
        low, high = 0.0, 30.0
        while high - low > 1e-9:
            middle = (low + high) / 2
            low, high = (middle, high) if _waits_within(middle, load) < p else (low, middle)
        return 1 + low


MM1 = Kind("M/M/1", "exponential")
MD1 = Kind("M/D/1", "constant")
MG2 = Kind("M/G/2", "two sorts", 2)


def _waits_within(limit: float, load: float) -> float:
    """The distribution of the wait in M/D/1 (Erlang 1909; Crommelin 1932)."""
    parts = (
        (-load * (limit - j)) ** j / math.factorial(j) * math.exp(load * (limit - j))
        for j in range(math.floor(limit) + 1)
    )
    return (1 - load) * math.fsum(parts)


def _services(kind: Kind, shape: tuple[int, int], draw: np.random.Generator) -> Array:
    match kind.service:
        case "exponential":
            return draw.exponential(1, shape)
        case "constant":
            return np.ones(shape)
        case _:
            # Nine short requests (resumed) for each long one (full): 0.5 and 5.5.
            return np.where(draw.random(shape) < 0.1, 5.5, 0.5)


def response_times(
    kind: Kind, load: float, trials: int, n: int, draw: np.random.Generator
) -> Array:
    """N response times of each trial, in rows, with Poisson arrivals."""
    shape = (trials, n + WARM_UP)
    services = _services(kind, shape, draw)
    gaps = draw.exponential(1 / (load * kind.servers), shape)
    waits = _one(services, gaps) if kind.servers == 1 else _several(kind.servers, services, gaps)
    return np.asarray((waits + services)[:, WARM_UP:])


def _one(services: Array, gaps: Array) -> Array:
    """Lindley 1952: the wait is the height of a random walk above its lowest point so far."""
    walk = np.zeros(services.shape)
    np.cumsum(services[:, :-1] - gaps[:, 1:], axis=1, out=walk[:, 1:])
    return np.asarray(walk - np.minimum.accumulate(np.minimum(walk, 0), axis=1))


def _several(servers: int, services: Array, gaps: Array) -> Array:
    """Kiefer and Wolfowitz 1955: the work before each server, least first."""
    work = np.zeros((services.shape[0], servers))
    waits = np.empty(services.shape)
    for i in range(services.shape[1]):
        work = np.maximum(work - gaps[:, i : i + 1], 0)
        work.sort(axis=1)
        waits[:, i] = work[:, 0]
        work[:, 0] += services[:, i]
    return waits


@cache
def _reference(kind: Kind, load: float) -> Array:
    return response_times(kind, load, _REFERENCE, 1_500, np.random.default_rng(1)).ravel()
