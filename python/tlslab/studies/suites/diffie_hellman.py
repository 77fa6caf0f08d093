"""The cost of the size of Diffie-Hellman parameters, for handshakes and requests separately.

The published study raised the question: with connections kept open, 2048 bits came out best and
1024 clearly worse. The parameters play no part after the handshake, whose cost rises steeply with
the size. The share of handshakes in such a measurement bounds what they can do to requests:
connections x cost of a handshake / (length x processors of the server), and zero if the connections
are made in the warm-up.

All suites answer together: the ratio of each size to the usual one is over all suites that have
both. So do generated parameters, which the study had, against those of standard groups.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tlslab.analysis.compare import Measured, compare, judged_together
from tlslab.analysis.stats.estimate import estimate
from tlslab.analysis.stats.families import holm
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPEN_SERVER_COST, SERVER_COST
from tlslab.domain.finding import Comparison, Finding, Values
from tlslab.domain.wording import level_label
from tlslab.studies.suites.matched import Together, bound_of_all, judged, together
from tlslab.studies.suites.places import (
    SuitePlace,
    dh_bits,
    is_generated,
    short_name,
    usual_size,
)

# Smaller differences between sizes are irrelevant, and among several comparisons one may arise by
# chance.
SMALLEST = 0.01

# The size that the study found clearly worse.
_WORSE = 1024


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
    def is_generated(self) -> bool:
        """Whether the parameters are generated."""
        return is_generated(self.cell)

    @property
    def label(self) -> str:
        """The parameters in words: `2048`, `2048, generated`."""
        level = self.cell.summary.factors["dh_bits"]
        return level_label("dh_bits", level).removeprefix("DH ")


@dataclass(frozen=True)
class Load:
    """The load of the published study's measurement."""

    connections: int
    seconds: float
    processors: int


Sizes = Mapping[str, Sequence[SizeCell]]


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


def _judged(found: Sizes) -> dict[str, list[SizeCell]]:
    """All sizes, with verdicts by the false discovery rate over the ratios of all of them."""
    ratios = [
        each
        for rows in found.values()
        for row in rows
        for each in (row.handshake, row.keep_alive)
        if each is not None
    ]
    verdicts = iter(judged_together(ratios))
    return {
        suite: [
            replace(
                row,
                handshake=None if row.handshake is None else next(verdicts),
                keep_alive=None if row.keep_alive is None else next(verdicts),
            )
            for row in rows
        ]
        for suite, rows in found.items()
    }


def _compared(cells: Sequence[Measured], place: SuitePlace, load: Load) -> list[SizeCell]:
    ordered = sorted(cells, key=lambda cell: (dh_bits(cell) or 0, is_generated(cell)))
    usual = usual_size(cells)
    return [
        SizeCell(
            cell=cell,
            bits=dh_bits(cell) or 0,
            against=dh_bits(usual) or 0,
            handshake=None if cell is usual else compare(cell, usual, SERVER_COST),
            keep_alive=None if cell is usual else compare(cell, usual, place.keep_alive),
            share=handshake_share([cell], load) if cell.may_rank(SERVER_COST) else None,
        )
        for cell in ordered
    ]


def handshake_share(cells: Sequence[Measured], load: Load) -> Estimate | None:
    """The share of the server's time for handshakes, if all were made within the measurement.

    The mean over the cells. A new connection's cost includes that of its one request, which is
    subtracted if it is known.
    """
    whole_us = load.seconds * 1e6 * load.processors
    blocks = set.intersection(*(set(cell.values.get(SERVER_COST, {})) for cell in cells))
    shares = [
        load.connections * float(np.mean([_handshake_us(cell, block) for cell in cells])) / whole_us
        for block in sorted(blocks)
    ]
    return estimate(shares, "share") if shares else None


def _handshake_us(cell: Measured, block: int) -> float:
    request = cell.values.get(OPEN_SERVER_COST, {}).get(block, 0.0)
    return max(cell.values[SERVER_COST][block] - request, 0.0)


def size_findings(place: SuitePlace, found: Sizes, load: Load) -> Iterator[Finding]:
    """What the size costs, over all suites together; then what generated parameters cost."""
    rows = [row for each in found.values() for row in each]
    if not rows:
        return
    against = usual_size([row.cell for row in rows])
    usual = dh_bits(against) or 0
    where = {
        "where": place.label,
        "against": usual,
        "suites": sorted({short_name(row.cell) for row in rows}),
        "without": _without(rows, place),
    }
    keys = tuple(row.cell.summary.key for row in rows)
    standard = sorted({row.bits for row in rows if not row.is_generated} - {usual})
    handshakes, requests = (
        _known(standard, _joint([_pairs(found, bits, usual) for bits in standard], by))
        for by in (SERVER_COST, place.keep_alive)
    )
    if handshakes or requests:
        yield Finding("dh_sizes", cells=keys, values={**where, **_ratios(handshakes, requests)})
    shares = _shares(rows, load)
    if shares:
        verdict, left = _verdict(handshakes.get(_WORSE), requests.get(_WORSE))
        values = {**where, "connections": load.connections, "seconds": load.seconds,
                  "shares": shares, "verdict": verdict if usual != _WORSE else None,
                  "open": left}  # fmt: skip
        yield Finding("dh_share", cells=keys, values=values)
    yield from _generated(place, rows, where)


def _pairs(found: Sizes, bits: int, usual: int) -> list[tuple[list[Measured], list[Measured]]]:
    """Each suite with standard parameters of this size, and with the usual ones."""
    sides = (
        [[row.cell for row in rows if row.bits == size and not row.is_generated]
         for size in (bits, usual)]
        for rows in found.values()
    )  # fmt: skip
    return [(one, other) for one, other in sides if one and other]


def _generated(
    place: SuitePlace, rows: Sequence[SizeCell], where: Mapping[str, object]
) -> Iterator[Finding]:
    """Generated parameters against those of standard groups of the same size, suite by suite."""
    by_size: dict[int, list[tuple[list[Measured], list[Measured]]]] = {}
    for row in rows:
        for other in rows:
            same = other.bits == row.bits and short_name(other.cell) == short_name(row.cell)
            if row.is_generated and same and not other.is_generated:
                by_size.setdefault(row.bits, []).append(([row.cell], [other.cell]))
    bits = sorted(by_size)
    handshakes, requests = (
        _known(bits, _joint([by_size[size] for size in bits], by))
        for by in (SERVER_COST, place.keep_alive)
    )
    if handshakes or requests:
        keys = (key for each in (*handshakes.values(), *requests.values()) for key in each.cells)
        values = {**where, **_ratios(handshakes, requests)}
        yield Finding("dh_generated", cells=tuple(dict.fromkeys(keys)), values=values)


def _joint(
    pairs: Sequence[Sequence[tuple[Sequence[Measured], Sequence[Measured]]]], estimate: str
) -> list[Together | None]:
    return judged([together(each, estimate) for each in pairs], adjust=holm)


def _known(bits: Sequence[int], found: Sequence[Together | None]) -> dict[int, Together]:
    """The ratios by their sizes, without those that cannot be compared."""
    return {size: each for size, each in zip(bits, found, strict=True) if each is not None}


def _ratios(handshakes: Mapping[int, Together], requests: Mapping[int, Together]) -> Values:
    """The ratios by size; the sizes with other rates of requests; what stays open of all rates."""
    return {
        "handshakes": {bits: each.ratio.as_estimate for bits, each in handshakes.items()},
        "requests": {bits: each.ratio.as_estimate for bits, each in requests.items()},
        "differing": [bits for bits, each in requests.items() if _differs(each)],
        "within": bound_of_all(requests.values()),
        "matches": max(each.matches for each in (*handshakes.values(), *requests.values())),
    }


def _shares(rows: Sequence[SizeCell], load: Load) -> dict[str, Estimate]:
    """The handshakes' share by the parameters, over all suites that have them."""
    by_label: dict[str, list[Measured]] = {}
    for row in sorted(rows, key=lambda row: (row.is_generated, row.bits)):
        if row.share is not None:
            by_label.setdefault(row.label, []).append(row.cell)
    found = {label: handshake_share(cells, load) for label, cells in by_label.items()}
    return {label: share for label, share in found.items() if share is not None}


def _verdict(
    handshake: Together | None, requests: Together | None
) -> tuple[str | None, float | None]:
    """What a run says of the study's observation that 1024 bits are clearly worse.

    A key of `words.VERDICTS`, and the difference that stays open. The study gave no figure. Without
    an established difference a run neither confirms nor refutes it, however small the difference
    that stays open.
    """
    if handshake is None or handshake.ratio.high is None:
        return None, None
    if not (handshake.ratio.differs and handshake.ratio.ratio < 1):
        return "not_cheaper", handshake.ratio.may_differ
    if requests is None:
        return "cheaper", None
    if not _differs(requests):
        return "open", requests.ratio.may_differ
    return ("seen_again" if requests.ratio.verdict == "slower" else "opposite"), None


def _differs(found: Together) -> bool:
    """Whether two sizes differ by a relevant amount."""
    return found.ratio.differs and abs(found.ratio.ratio - 1) >= SMALLEST


def _without(rows: Sequence[SizeCell], place: SuitePlace) -> dict[str, list[str]]:
    """The suites that are not compared at some size, by estimate; refused ones have a finding."""
    found = {
        by: [
            f"{short_name(row.cell)} with {row.label} bits"
            for row in rows
            if row.cell.summary.verdict != "unsupported" and not row.cell.may_rank(by)
        ]
        for by in (SERVER_COST, place.keep_alive)
    }
    return {by: names for by, names in found.items() if names}
