"""The estimates by which runs are judged: `tlslab compare`, its gate, and `tlslab history`. Pure.

Their rows in `domain/estimates.py` have the family `runs`. Left out are repetitions of another
estimate (in a closed loop handshakes/s, bytes/s and the time of a whole connection follow the
rates), combinations of others, the parts of a cost, and shares of busy processors. Times are judged
by their middle and their end, p50 and p99.
"""

from collections.abc import Collection, Mapping

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CAPACITY,
    CONNECTIONS,
    OPEN_REQUESTS,
    OPERATIONS,
    REQUESTS,
    in_order,
    quantity,
)
from tlslab.domain.finding import CellSummary

# The rates of the kinds of experiments, which come first in judging their cells.
_LEADING = (CAPACITY, CONNECTIONS, REQUESTS, OPERATIONS)

# The same in words, for a report's method.
WORDS = (
    "Compared are rates, the processor time of both sides, memory, the bytes of a handshake and of "
    "an OCSP response, and p50 and p99 of handshakes, operations and response times at each load: "
    "as far as the runs have them. Other estimates are in each run's summary.json."
)


def judged_names(*sides: Mapping[str, Estimate]) -> list[str]:
    """The estimates of one or more sides by which they are judged, rates first.

    Requests/s are left out if each connection had one request: they repeat the connections/s.
    """
    found = dict.fromkeys(name for side in sides for name in side)
    counted = [side for side in sides if REQUESTS in side]
    if all(_one_request(side) for side in counted):
        found.pop(REQUESTS, None)
    return [name for name in in_order(found) if "runs" in quantity(name).families]


def _one_request(side: Mapping[str, Estimate]) -> bool:
    rate = side.get(CONNECTIONS)
    return rate is not None and rate.value == side[REQUESTS].value


def leading_rate(names: Collection[str]) -> str:
    """The first rate by which cells with these estimates are judged."""
    return next((name for name in _LEADING if name in names), CONNECTIONS)


def gated_rates(names: Collection[str]) -> tuple[str, ...]:
    """The rates that a gate uses by default: the leading rate, and that of open connections."""
    wanted = (leading_rate(names), OPEN_REQUESTS)
    return tuple(name for name in wanted if name in names)


def left_open(cell: CellSummary, name: str) -> str:
    """The reason that an estimate is left open, because it depends on an unknown maximum; else
    empty.

    The load that meets the objective does not depend on the maximum: it lies between offered loads.
    """
    return cell.left_open.get(CONNECTIONS, "") if quantity(name).of_maximum else ""
