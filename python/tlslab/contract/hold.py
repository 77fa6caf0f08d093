"""The result of holding connections idle. Made from schema/hold.json by `make schema`."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Memory:
    """The kernel's sums over all mappings of this process (proc(5), `smaps_rollup`), in bytes."""

    resident: int  # Resident: all pages in memory, shared ones in full.
    proportional: int
    anonymous: int  # Anonymous: heap and stacks, without files.


@dataclass(frozen=True)
class HeldLevel:
    """The measurements at one level."""

    asked: int  # Connections requested at this level.
    connections: int  # Idle connections when the memory was read.
    seconds: float  # Time to reach this level from the one before, in seconds.
    memory: Memory  # Memory of this process.


@dataclass(frozen=True)
class HoldRecord:
    """The result of holding connections idle."""

    backend: str  # The TLS back end: `rustls` or `openssl`.
    address: str  # The address that was connected to.
    empty: Memory  # This process's memory before the first connection was opened.
    levels: tuple[HeldLevel, ...]  # The measurements at each level that was reached.
    attempts: int  # Connections that were started.
    alive: int  # Connections that completed a second request at the end.
    lost: int
    failed: Mapping[str, int]
    interrupted: bool  # Whether the run was interrupted.
