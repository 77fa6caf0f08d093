"""Tables of the suites study: all numbers of a suite, and those of each Diffie-Hellman size."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tlslab.analysis.compare import Measured
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CLIENT_COST,
    CONNECTIONS,
    OPEN_BYTES,
    OPEN_MEMORY,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    SERVER_COST,
)
from tlslab.domain.figure import DataTable, TableCell
from tlslab.domain.finding import Comparison
from tlslab.domain.wording import joined
from tlslab.studies.suites.diffie_hellman import SizeCell
from tlslab.studies.suites.orders import ranks
from tlslab.studies.suites.places import SuitePlace, short_name, value
from tlslab.words.validity import reasons_words

_MEGA = 1e6


def kept_open_table(place: SuitePlace, published: Sequence[str]) -> DataTable:
    """Requests on connections kept open, best suite first."""
    found = ranks(place.usual, place.keep_alive)
    return DataTable(
        id=f"suites-kept-open-{place.id}",
        title=f"Requests on connections kept open: {place.label}",
        caption=(
            "No handshake is in the measurement. A range of ranks is what the trials leave open; "
            f"the answers have the difference that is left.{place.dhe_words} The last column is "
            "the suite's place in the study's order."
        ),
        columns=("suite", "rank", "requests/s", "server µs", "MB/s", "memory, MB", "study"),
        rows=tuple(
            _refused(cell, 7)
            or (
                short_name(cell),
                found.get(cell.summary.key, "-"),
                value(cell, OPEN_REQUESTS),
                value(cell, OPEN_SERVER_COST),
                _mega(value(cell, OPEN_BYTES)),
                _mega(value(cell, OPEN_MEMORY)),
                _place_in(published, cell),
            )
            for cell in _in_order(place.usual, found)
        ),
    )


def handshake_table(place: SuitePlace) -> DataTable:
    """The cost of a new connection on both sides, the cheapest suite for the server first."""
    found = ranks(place.usual, SERVER_COST)
    return DataTable(
        id=f"suites-handshake-{place.id}",
        title=f"New connections: {place.label}",
        caption=f"One request on each: handshake, request, close.{place.dhe_words}",
        columns=("suite", "rank", "server µs", "client µs", "connections/s"),
        rows=tuple(
            _refused(cell, 5)
            or (
                short_name(cell),
                found.get(cell.summary.key, "-"),
                value(cell, SERVER_COST),
                value(cell, CLIENT_COST),
                value(cell, CONNECTIONS),
            )
            for cell in _in_order(place.usual, found)
        ),
    )


def _in_order(cells: Sequence[Measured], found: Mapping[str, str]) -> list[Measured]:
    """Ranked cells in their order, then the others."""
    keys = list(found)
    return sorted(
        cells, key=lambda c: keys.index(c.summary.key) if c.summary.key in found else len(keys)
    )


def _refused(cell: Measured, columns: int) -> tuple[TableCell, ...] | None:
    """The row of a suite that the server does not support, with the reason."""
    if cell.summary.verdict not in ("unsupported", "failed"):
        return None
    reason = reasons_words(cell.summary)
    text = f"{cell.summary.verdict}: {reason}"
    return (short_name(cell), text, *[None] * (columns - 2))


def _mega(number: Estimate | None) -> Estimate | None:
    """Bytes as millions of them."""
    if number is None:
        return None
    low, high = (None if end is None else end / _MEGA for end in (number.low, number.high))
    unit = number.unit.replace("B", "MB")
    return replace(number, value=number.value / _MEGA, low=low, high=high, unit=unit)


def _place_in(published: Sequence[str], cell: Measured) -> str:
    name = short_name(cell)
    return str(published.index(name) + 1) if name in published else "-"


def sizes_table(place: SuitePlace, found: Mapping[str, Sequence[SizeCell]]) -> DataTable:
    """One row for each suite and Diffie-Hellman size."""
    rows = [
        (
            suite,
            row.label if row.is_generated else row.bits,
            value(row.cell, SERVER_COST),
            _ratio_cell(row.handshake),
            value(row.cell, OPEN_REQUESTS),
            _ratio_cell(row.keep_alive),
            row.share,
        )
        for suite, cells in found.items()
        for row in cells
    ]
    return DataTable(
        id=f"dh-{place.id}",
        title=f"Diffie-Hellman sizes: {place.label}",
        caption=(
            f"Ratios to {_baselines(found)} bits, paired by block. The last column is what "
            "handshakes would take of the server's time in a measurement like the study's, if all "
            "connections were made in it; made in the warm-up, they take nothing."
        ),
        columns=(
            "suite",
            "bits",
            "new connection, server µs",
            "ratio",
            "kept open, requests/s",
            "ratio",
            "handshakes' share",
        ),
        rows=tuple(rows),
    )


def _baselines(found: Mapping[str, Sequence[SizeCell]]) -> str:
    """The sizes with which others are compared; most runs have one."""
    sizes = {row.against for rows in found.values() for row in rows}
    return joined([str(bits) for bits in sorted(sizes)])


def _ratio_cell(comparison: Comparison | None) -> Estimate | str | None:
    """A ratio, unless a side of it is invalid or a lower bound."""
    if comparison is not None and comparison.verdict == "not_comparable":
        return "not comparable"
    return None if comparison is None else comparison.as_estimate
