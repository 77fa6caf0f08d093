"""What the size of Diffie-Hellman parameters costs: handshakes and requests, each on its own.

The published study raised the question: with connections kept open, 2048 bits came out best and
1024 clearly worse. A handshake's cost rises steeply with the size; a request's cannot, because the
parameters play no part after the handshake. What remains is how much of such a measurement
handshakes can be: connections x cost of a handshake / (length x processors of the server), and
nothing at all where the connections are made in the warm-up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tlslab.analysis.compare import Measured, compare, judged_together
from tlslab.analysis.stats.estimate import estimate
from tlslab.analysis.studies.suites.places import (
    HANDSHAKE,
    KEEP_ALIVE_REQUEST_COST,
    Place,
    dh_bits,
    short_name,
    usual_size,
)
from tlslab.model.estimate import Estimate
from tlslab.model.finding import Comparison


@dataclass(frozen=True)
class SizeCell:
    """One suite at one size, compared with itself at another one.

    `against` is that other size in bits: the usual one, or else the smallest. `share` is the part
    of the server's time that making all connections anew would take within the measurement; None
    where the cost is not known.
    """

    cell: Measured
    bits: int
    against: int
    handshake: Comparison | None
    keep_alive: Comparison | None
    share: Estimate | None

    @property
    def is_baseline(self) -> bool:
        """Whether the others are compared with this one."""
        return self.bits == self.against


@dataclass(frozen=True)
class Load:
    """A measurement as the published study made it."""

    connections: int
    seconds: float
    processors: int


def sizes(place: Place, load: Load) -> dict[str, list[SizeCell]]:
    """The suites that were measured at several sizes, each from the smallest to the largest."""
    by_suite: dict[str, list[Measured]] = {}
    for cell in place.cells:
        if dh_bits(cell) is not None:
            by_suite.setdefault(short_name(cell), []).append(cell)
    found = {
        suite: _compared(cells, place, load) for suite, cells in by_suite.items() if len(cells) > 1
    }
    return _judged(found)


def _judged(found: Mapping[str, Sequence[SizeCell]]) -> dict[str, list[SizeCell]]:
    """All ratios of all sizes are one table: verdicts by the false discovery rate of that."""
    ratios = [
        each
        for rows in found.values()
        for row in rows
        for each in (row.handshake, row.keep_alive)
        if each is not None
    ]
    judged = iter(judged_together(ratios))
    return {
        suite: [
            replace(
                row,
                handshake=None if row.handshake is None else next(judged),
                keep_alive=None if row.keep_alive is None else next(judged),
            )
            for row in rows
        ]
        for suite, rows in found.items()
    }


def _compared(cells: Sequence[Measured], place: Place, load: Load) -> list[SizeCell]:
    ordered = sorted(cells, key=lambda cell: dh_bits(cell) or 0)
    usual = usual_size(cells)
    return [
        SizeCell(
            cell=cell,
            bits=dh_bits(cell) or 0,
            against=dh_bits(usual) or 0,
            handshake=None if cell is usual else compare(cell, usual, HANDSHAKE),
            keep_alive=None if cell is usual else compare(cell, usual, place.keep_alive),
            share=handshake_share(cell, load) if cell.may_rank(HANDSHAKE) else None,
        )
        for cell in ordered
    ]


def handshake_share(cell: Measured, load: Load) -> Estimate | None:
    """The part of the server's time that handshakes are, were they all within the measurement.

    A new connection's cost holds that of its one request, which is taken off where it is known.
    """
    costs, requests = cell.values.get(HANDSHAKE, {}), cell.values.get(KEEP_ALIVE_REQUEST_COST, {})
    whole_us = load.seconds * 1e6 * load.processors
    shares = [
        load.connections * max(cost - requests.get(block, 0.0), 0.0) / whole_us
        for block, cost in costs.items()
    ]
    return estimate(shares, "share") if shares else None


def keep_alive_bound(rows: Sequence[SizeCell]) -> float | None:
    """The largest difference between sizes that the intervals leave open, as a share of the rate.

    Of the sizes that may be compared; None where one of them has no interval.
    """
    ends: list[float] = []
    for row in rows:
        if row.keep_alive is None or row.keep_alive.verdict == "not_comparable":
            continue
        if row.keep_alive.low is None or row.keep_alive.high is None:
            return None
        ends += [abs(row.keep_alive.low - 1), abs(row.keep_alive.high - 1)]
    return float(np.max(ends)) if ends else None
