"""The cost of the size of Diffie-Hellman parameters, for handshakes and requests separately.

The published study raised the question: with connections kept open, 2048 bits came out best and
1024 clearly worse. The parameters play no part after the handshake, whose cost rises steeply with
the size. The share of handshakes in such a measurement bounds what they can do to requests:
connections x cost of a handshake / (length x processors of the server), and zero if the connections
are made in the warm-up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tlslab.analysis.compare import Measured, compare, judged_together
from tlslab.analysis.stats.estimate import estimate
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPEN_SERVER_COST, SERVER_COST
from tlslab.domain.finding import Comparison
from tlslab.studies.suites.places import SuitePlace, dh_bits, short_name, usual_size


@dataclass(frozen=True)
class SizeCell:
    """One suite at one size, compared with itself at another size.

    `against`: that other size in bits, the usual one or else the smallest. `share`: the part of the
    server's time that it would take to make all connections anew within the measurement; None if
    the cost is not known.
    """

    cell: Measured
    bits: int
    against: int
    handshake: Comparison | None
    keep_alive: Comparison | None
    share: Estimate | None

    @property
    def is_baseline(self) -> bool:
        """Whether this is the cell with which the others are compared."""
        return self.bits == self.against


@dataclass(frozen=True)
class Load:
    """The load of the published study's measurement."""

    connections: int
    seconds: float
    processors: int


def sizes(place: SuitePlace, load: Load) -> dict[str, list[SizeCell]]:
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
    """All sizes, with verdicts by the false discovery rate over the ratios of all of them."""
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


def _compared(cells: Sequence[Measured], place: SuitePlace, load: Load) -> list[SizeCell]:
    ordered = sorted(cells, key=lambda cell: dh_bits(cell) or 0)
    usual = usual_size(cells)
    return [
        SizeCell(
            cell=cell,
            bits=dh_bits(cell) or 0,
            against=dh_bits(usual) or 0,
            handshake=None if cell is usual else compare(cell, usual, SERVER_COST),
            keep_alive=None if cell is usual else compare(cell, usual, place.keep_alive),
            share=handshake_share(cell, load) if cell.may_rank(SERVER_COST) else None,
        )
        for cell in ordered
    ]


def handshake_share(cell: Measured, load: Load) -> Estimate | None:
    """The share of the server's time for handshakes, if all were made within the measurement.

    A new connection's cost includes that of its one request, which is subtracted if it is known.
    """
    costs, requests = cell.values.get(SERVER_COST, {}), cell.values.get(OPEN_SERVER_COST, {})
    whole_us = load.seconds * 1e6 * load.processors
    shares = [
        load.connections * max(cost - requests.get(block, 0.0), 0.0) / whole_us
        for block, cost in costs.items()
    ]
    return estimate(shares, "share") if shares else None


def keep_alive_bound(rows: Sequence[SizeCell]) -> float | None:
    """The largest difference between sizes that the intervals leave open, as a share of the rate.

    Only sizes that may be compared count; None if one of them has no interval.
    """
    ends: list[float] = []
    for row in rows:
        if row.keep_alive is None or row.keep_alive.verdict == "not_comparable":
            continue
        if row.keep_alive.low is None or row.keep_alive.high is None:
            return None
        ends += [abs(row.keep_alive.low - 1), abs(row.keep_alive.high - 1)]
    return float(np.max(ends)) if ends else None
