"""Response times of the queue M/M/n: Poisson arrivals, exponential service, n servers, one line.

Erlang 1917; the formulas are those of Gross, Shortle, Thompson and Harris 2008, "Fundamentals of
Queueing Theory", section 2.3. Real service times vary less than exponential ones, so that waits are
rather shorter than these (Kingman 1961).
"""

import math

import scipy

# The largest arrival rate tried, as a share of the queue's limit; at 1 there is no steady state.
_NEARLY_ALL = 1 - 1e-9


def waiting_probability(servers: int, offered: float) -> float:
    """Erlang C: the probability that an arrival waits; `offered` is arrival rate x service time."""
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    busy = offered / servers
    return blocked / (1 - busy * (1 - blocked))


def mean_response(servers: int, rate: float, service: float) -> float:
    """The mean time in the system; times in one unit, `rate` in its inverse."""
    waits = waiting_probability(servers, rate * service)
    return service + waits / (servers / service - rate)


def exceeds(servers: int, rate: float, service: float, limit: float) -> float:
    """The probability that an arrival is in the system for longer than `limit`."""
    offered, steps = rate * service, limit / service
    waits, spare = waiting_probability(servers, offered), servers - 1 - offered
    if abs(spare) < 1e-9:
        return math.exp(-steps) * (1 + waits * steps)
    return math.exp(-steps) * (1 + waits * -math.expm1(-steps * spare) / spare)


def most_within(servers: int, service: float, limit: float, quantile: float | None) -> float:
    """The highest arrival rate at which this quantile of the response time (None: the mean) is in
    `limit`.

    0 if even a single arrival would exceed it.
    """

    def excess(rate: float) -> float:
        if quantile is None:
            return mean_response(servers, rate, service) - limit
        return exceeds(servers, rate, service, limit) - (1 - quantile)

    most = servers / service * _NEARLY_ALL
    if excess(most * 1e-9) > 0:
        return 0.0
    return most if excess(most) <= 0 else float(scipy.optimize.brentq(excess, most * 1e-9, most))
