"""Reads the engine's trace of single connections, a CSV file."""

import csv
from pathlib import Path

from tlslab.domain.errors import StoreError
from tlslab.domain.validation import TracedConnection

_COLUMNS = {
    "local_port", "started_ns", "established_ns", "secured_ns", "answered_ns", "ended_ns",
    "outcome",
}  # fmt: skip


def read_trace(path: Path) -> list[TracedConnection]:
    """All connections of a trace, in its order. Raises StoreError."""
    try:
        with path.open(encoding="ascii", newline="") as file:
            reader = csv.DictReader(file)
            if lacking := _COLUMNS - set(reader.fieldnames or ()):
                raise StoreError(f"{path}: no trace, it lacks {', '.join(sorted(lacking))}")
            return [_connection(row) for row in reader]
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: not a trace: {error}") from None


def _connection(row: dict[str, str]) -> TracedConnection:
    def instant(name: str) -> int | None:
        return int(row[name]) if row[name] else None

    return TracedConnection(
        local_port=instant("local_port"),
        started_ns=instant("started_ns"),
        established_ns=instant("established_ns"),
        secured_ns=instant("secured_ns"),
        answered_ns=instant("answered_ns"),
        ended_ns=instant("ended_ns"),
        outcome=row["outcome"],
    )
