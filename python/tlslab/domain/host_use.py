"""The work of each of several load generators over a whole run."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class HostUse:
    """One host: its hardware, its share of the load, the precision of its clock.

    `runs`: the number of runs with a record of this host; `lost`: the number in which the host was
    lost, with the `reason` of the first. `processors`: those of its workers. `handshakes_per_s`:
    the rate of these processors in memory, before the load. The following are the largest over all
    runs: `clock_error_s`, the uncertainty of its clock at the start; `clock_moved_s`, the movement
    of its clock beyond that uncertainty; `drift_ppm`, the rate of its clock against the leader's;
    `start_skew_s`, the delay of its start behind the first host's. `objections`: the verdicts of
    its own runs by code, other than `valid`, with their numbers.
    """

    name: str
    processor: str
    processors: tuple[int, ...]
    runs: int
    lost: int = 0
    reason: str = ""
    handshakes_per_s: float | None = None
    clock_error_s: float | None = None
    clock_moved_s: float | None = None
    drift_ppm: float | None = None
    start_skew_s: float | None = None
    objections: Mapping[str, int] = field(default_factory=dict)
