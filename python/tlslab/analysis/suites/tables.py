"""Study R's tables: all numbers of a suite, and those of each Diffie-Hellman size."""

from collections.abc import Mapping, Sequence

from tlslab.analysis.compare import Measured
from tlslab.analysis.suites.diffie_hellman import SizeCell
from tlslab.analysis.suites.orders import ranks
from tlslab.analysis.suites.places import (
    CLIENT_HANDSHAKE,
    HANDSHAKE,
    NEW_CONNECTIONS,
    STEADY,
    STEADY_BYTES,
    STEADY_MEMORY,
    STEADY_REQUEST_COST,
    Place,
    family,
    short_name,
    value,
)
from tlslab.model.estimate import Estimate
from tlslab.model.figure import DataTable, TableCell
from tlslab.model.finding import Comparison

_SUITE_COLUMNS = (
    "suite",
    "family",
    "rank, kept open",
    "requests/s, kept open",
    "server µs per request",
    "received, B/s",
    "memory, B",
    "rank, handshake",
    "server µs per new connection",
    "client µs per new connection",
    "new connections/s",
    "rank in the study",
)


def suites_table(place: Place, published: Sequence[str]) -> DataTable:
    """One row for each suite, in the order of the rate on connections kept open."""
    steady, handshake = ranks(place.usual, place.steady), ranks(place.usual, HANDSHAKE)
    keys = list(steady)
    ordered = sorted(
        place.usual,
        key=lambda c: keys.index(c.summary.key) if c.summary.key in steady else len(keys),
    )
    return DataTable(
        id=f"suites-{place.id}",
        title=f"Cipher suites: {place.label}",
        caption=(
            "Fastest first on connections kept open; handshakes are measured apart, one request "
            "on each new connection. 1=: cannot be told apart. DHE with 2048 bits."
        ),
        columns=_SUITE_COLUMNS,
        rows=tuple(_row(cell, steady, handshake, published) for cell in ordered),
    )


def _row(
    cell: Measured,
    steady: Mapping[str, str],
    handshake: Mapping[str, str],
    published: Sequence[str],
) -> tuple[TableCell, ...]:
    key, name = cell.summary.key, short_name(cell)
    if cell.summary.verdict in ("unsupported", "failed"):
        reason = "; ".join(note.message for note in cell.summary.reasons)
        text = f"{cell.summary.verdict}: {reason}"
        return (name, family(cell), text, *[None] * (len(_SUITE_COLUMNS) - 3))
    return (
        name,
        family(cell),
        steady.get(key, "-"),
        value(cell, STEADY),
        value(cell, STEADY_REQUEST_COST),
        value(cell, STEADY_BYTES),
        value(cell, STEADY_MEMORY),
        handshake.get(key, "-"),
        value(cell, HANDSHAKE),
        value(cell, CLIENT_HANDSHAKE),
        value(cell, NEW_CONNECTIONS),
        str(published.index(name) + 1) if name in published else "-",
    )


def sizes_table(place: Place, found: Mapping[str, Sequence[SizeCell]]) -> DataTable:
    """One row for each suite and Diffie-Hellman size."""
    rows = [
        (
            suite,
            row.bits,
            value(row.cell, HANDSHAKE),
            ratio(row.handshake),
            value(row.cell, STEADY),
            ratio(row.steady),
            row.share,
        )
        for suite, cells in found.items()
        for row in cells
    ]
    return DataTable(
        id=f"dh-{place.id}",
        title=f"Diffie-Hellman sizes: {place.label}",
        caption=(
            "Ratios to 2048 bits, paired by block. The last column is what handshakes would take "
            "of the server's time in a measurement like the study's, if all connections were made "
            "in it; made in the warm-up, they take nothing."
        ),
        columns=(
            "suite",
            "bits",
            "server µs per new connection",
            "ratio to 2048",
            "requests/s, kept open",
            "kept open, ratio to 2048",
            "handshakes' share",
        ),
        rows=tuple(rows),
    )


def ratio(comparison: Comparison | None) -> Estimate | None:
    """A comparison's ratio with its interval, as a table shows numbers."""
    if comparison is None:
        return None
    return Estimate(
        comparison.ratio,
        comparison.low,
        comparison.high,
        comparison.n,
        "ratio",
        comparison.method,
    )
