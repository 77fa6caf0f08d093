"""The words of the table of round trips."""

from tlslab.domain.figure import DataTable

# The round-trip time of the sentence's example.
_AT_MS = 50.0

_METHOD = (
    "Computed, not measured: round trips times the round-trip time, and the mean time measured on "
    "loopback under the load of the run. Round trips: TCP connect, handshake, request. More by "
    "TCP: the server waits for acknowledgements before it sends the rest of a flight of more than "
    "14,600 bytes (RFC 6928)."
)


def caption(table: DataTable) -> str:
    """How the times were made, after what the fewest round trips save."""
    return " ".join(filter(None, (_saved(table), _METHOD)))


def _saved(table: DataTable) -> str:
    """What connections with the fewest round trips save; empty if all have the same number."""
    trips = [float(str(row[2])) + float(str(row[3])) for row in table.rows]
    few, many = min(trips), max(trips)
    if few == many:
        return ""
    names = [f"{name}, {kind}" if name else f"{kind}" for name, kind, *_ in table.rows]
    return f"{waits_less((names[trips.index(few)], few), (names[trips.index(many)], many))}."


def waits_less(fewer: tuple[str, float], more: tuple[str, float], at_ms: float = _AT_MS) -> str:
    """`TLS 1.3: 3 round trips, TLS 1.2 has 4: a client at 50 ms waits 50 ms less (computed)`.

    `fewer`, `more`: the name of connections, and their round trips to the first byte.
    """
    (name, few), (other, many) = fewer, more
    return (
        f"{name}: {_number(few)} round trips, {other} has {_number(many)}: a client at "
        f"{_number(at_ms)} ms waits {_number((many - few) * at_ms)} ms less (computed)"
    )


def _number(value: float) -> str:
    """Whole numbers without decimals."""
    return f"{value:.0f}" if value == round(value) else f"{value:.2f}"
