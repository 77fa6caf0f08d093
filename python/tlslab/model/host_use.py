"""The work of each of several load generators over a whole run."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class HostUse:
    """One host: what it is, how much of the load it made, how well its clock was known.

    `runs` are those that it has a record of, `lost` those in which it was lost, with the `reason`
    of the first. `processors` are those of its workers. `handshakes_per_s` is what these made in
    memory before the load. Of the runs the largest each: `clock_error_s`, to which its clock was
    known at the start; `clock_moved_s`, by which that moved beyond doubt; `drift_ppm`, its rate
    against the leader's clock; `start_skew_s`, by which it began after the first host.
    `objections` are the verdicts of its own runs by code, other than `valid`, with their numbers.
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
