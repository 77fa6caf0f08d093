"""The leader's findings on the hosts of several generators: clocks, speeds, and causes of loss."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class HostClock:
    """A host's CLOCK_MONOTONIC against the leader's, from round trips.

    `offset_s`: the offset before the start, known to `uncertainty_s`. `drift_ppm`: how much faster
    the host's clock ran, in millionths, known to `drift_uncertainty_ppm`. `moved_s`: the least
    distance between the offset in the run and any straight line, beyond what the uncertainties
    explain.
    """

    offset_s: float = 0.0
    uncertainty_s: float = 0.0
    drift_ppm: float = 0.0
    drift_uncertainty_ppm: float = 0.0
    moved_s: float = 0.0
    readings: int = 0


@dataclass(frozen=True)
class HostFound:
    """The leader's findings on one of several generators' hosts.

    Hosts with equal `boot_id` share a kernel, its processors and clocks. `handshakes_per_s`: the
    rate of the host's processors in memory, before the load.
    """

    boot_id: str | None = None
    handshakes_per_s: float | None = None
    clock: HostClock | None = None


@dataclass(frozen=True)
class LastTotals:
    """The last report of a lost generator: totals since the start of its measurement."""

    arrivals: int = 0
    completed: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    unexpected: int = 0
    requests: int = 0
    in_flight: int = 0


@dataclass(frozen=True)
class Lost:
    """The loss of a host: the reason, the time (seconds into the measurement), its last report."""

    reason: str
    at_s: float
    totals: LastTotals = field(default_factory=LastTotals)
