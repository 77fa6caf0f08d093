"""Round trips to the first byte, and the time that they take at a distance: computed. Pure.

Loopback hides round trips. The time at a distance is their number times the round-trip time, and
the time that was measured on loopback. A server whose flight is longer than its initial congestion
window waits for acknowledgements before it sends the rest (RFC 6928): round trips more, which a
count of flights does not see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tlslab.contract.record import RunRecord
from tlslab.domain.figure import DataTable, TableCell
from tlslab.domain.finding import CellSummary
from tlslab.domain.trial import Trial
from tlslab.domain.wording import cell_label

Kind = Literal["full", "resumed"]

# Round-trip times: within a site, a region, a continent, between continents.
ROUND_TRIP_TIMES_MS = (1, 20, 50, 150)

# Ten segments of Ethernet (RFC 6928, section 2).
INITIAL_WINDOW_BYTES = 10 * 1460


@dataclass(frozen=True)
class FirstByte:
    """The wait for the first byte on connections with one kind of handshake.

    `round_trips`: as the engine counted them, mean over the connections. `of_window`: round trips
    more for a flight longer than the initial congestion window. `loopback_ms`: the time from the
    start of the TCP connection on loopback, under the load of the measurement, mean.
    """

    kind: Kind
    round_trips: float
    of_window: int
    loopback_ms: float

    def ms_at(self, round_trip_ms: float) -> float:
        """The computed time to the first byte at a round-trip time, in milliseconds."""
        return (self.round_trips + self.of_window) * round_trip_ms + self.loopback_ms


def window_round_trips(flight_bytes: float) -> int:
    """The round trips in which a sender waits for acknowledgements before the end of a flight.

    In slow start the window doubles with each round trip (RFC 5681, section 3.1): after the first
    window follow two more, then four. `flight_bytes`: TCP payload.
    """
    sent, window, waits = INITIAL_WINDOW_BYTES, INITIAL_WINDOW_BYTES, 0
    while sent < flight_bytes:
        window *= 2
        sent += window
        waits += 1
    return waits


def first_bytes(trials: Sequence[Trial]) -> list[FirstByte]:
    """The waits of a cell's trials: of full handshakes, then of resumed ones, as far as known."""
    records = [run.record for trial in trials if (run := trial.runs.get("capacity")) is not None]
    kinds: tuple[Kind, ...] = ("full", "resumed")
    found = (first_byte(records, kind) for kind in kinds)
    return [each for each in found if each is not None]


def mean_round_trips(record: RunRecord, kind: Kind) -> float | None:
    """The mean number of round trips of connections with this kind of handshake; None if unknown.

    Records of earlier engines have none.
    """
    counts = _counts(record, kind)
    connections = sum(counts.values())
    return sum(number * n for number, n in counts.items()) / connections if connections else None


def _counts(record: RunRecord, kind: Kind) -> Mapping[int, int]:
    counted = record.round_trips.full if kind == "full" else record.round_trips.resumed
    return {int(number): connections for number, connections in counted.items()}


def first_byte(records: Sequence[RunRecord], kind: Kind) -> FirstByte | None:
    """The wait of connections with this kind of handshake, over all records; None if unknown."""
    connections = trips = 0
    loopback_ms, flight = 0.0, 0.0
    for record in records:
        counts, took_ms = _counts(record, kind), _loopback_ms(record, kind)
        if not counts or took_ms is None:
            continue
        number = sum(counts.values())
        connections += number
        trips += sum(each * n for each, n in counts.items())
        loopback_ms += number * took_ms
        flight = max(flight, _flight_bytes(record) if kind == "full" else 0.0)
    if not connections:
        return None
    return FirstByte(
        kind, trips / connections, window_round_trips(flight), loopback_ms / connections
    )


def _loopback_ms(record: RunRecord, kind: Kind) -> float | None:
    """The mean time from the start of the TCP connection to the first byte; None if not measured.

    Means add up. Requests after the first are in the mean of the last part. A request that is early
    data begins with the handshake; not measured where only some are.
    """
    names = ["connect", f"handshake_{kind}", "first_byte"]
    if early := record.kinds.early_data_accepted:
        if kind != "resumed" or early < record.outcomes.completed:
            return None
        names.remove("handshake_resumed")
    parts = [record.summaries.get(name) for name in names]
    if any(part is None or part.n == 0 for part in parts):
        return None
    return sum(part.mean_ms for part in parts if part is not None)


def _flight_bytes(record: RunRecord) -> float:
    """The server's flight with the certificates of a full handshake, in bytes of TCP payload.

    A full TLS 1.2 handshake has some 300 bytes of a second flight in it. Where connections resume,
    too, the mean over all is too small: the flight is at least as long as the chain.
    """
    certificate = record.preflight.certificate
    chain = 0 if certificate is None else certificate.chain_bytes
    mean = record.bytes.handshake_received / max(1, record.outcomes.completed)
    return max(mean, float(chain))


def round_trips_table(
    cells: Sequence[tuple[CellSummary, Sequence[FirstByte]]],
) -> tuple[DataTable, ...]:
    """The computed time to the first byte of each cell; empty where round trips do not matter.

    They do if the cells have several TLS versions, resume sessions, or differ in round trips. The
    caption is that of `words`.
    """
    found = [(cell, each) for cell, waits in cells for each in waits]
    versions = {cell.factors.get("tls") for cell, _ in found}
    trips = {(each.round_trips, each.of_window) for _, each in found}
    resumed = any(each.kind == "resumed" for _, each in found)
    if not found or (len(versions) < 2 and len(trips) < 2 and not resumed):
        return ()
    varied = _varied([cell for cell, _ in cells])
    rows: list[tuple[TableCell, ...]] = []
    for cell, each in found:
        name = cell_label({name: cell.factors[name] for name in varied if name in cell.factors})
        computed = [each.ms_at(time) for time in ROUND_TRIP_TIMES_MS]
        trips_and_time = (each.round_trips, each.of_window, each.loopback_ms)
        rows.append((name, each.kind, *trips_and_time, *computed))
    heads = ("", "handshake", "round trips", "more by TCP", "loopback ms")
    at = tuple(f"ms at {time} ms" for time in ROUND_TRIP_TIMES_MS)
    title = "Time to the first byte at a distance, computed"
    return (DataTable("round_trips", title, "", (*heads, *at), tuple(rows)),)


def _varied(cells: Sequence[CellSummary]) -> list[str]:
    """The factors with more than one level."""
    levels: dict[str, set[str]] = {}
    for cell in cells:
        for name, level in cell.factors.items():
            levels.setdefault(name, set()).add(level)
    return [name for name, found in levels.items() if len(found) > 1]
