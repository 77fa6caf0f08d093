"""The server side of a run whose server the lab did not start: the readings of each source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# `started`: the process tree of a server that the lab started. The other sources are for servers
# that it did not start: the tree of the listening process, that tree's cgroup, or the whole machine
# as a node_exporter reports it.
Source = Literal["started", "process_tree", "cgroup", "node_exporter"]

SOURCE_WORDS: dict[str, str] = {
    "started": "its process tree",
    "process_tree": "its process tree, found by the listening socket",
    "cgroup": "its cgroup",
    "node_exporter": "whole machine, by node_exporter",
}


@dataclass(frozen=True)
class SourceTime:
    """Processor time by one source, in microseconds, over `seconds`.

    `error_us`: the possible error of the sum from the way of reading, half the width of the
    interval (`lab.server_side.machine`); `bias_us`: the part of this error that may be equal in all
    runs. Both are 0 for sources that are read directly. The time by `node_exporter` excludes the
    idle machine's.
    """

    source: Source
    user_us: int
    system_us: int
    seconds: float
    error_us: int = 0
    bias_us: int = 0

    @property
    def total_us(self) -> int:
        """User and system time together."""
        return self.user_us + self.system_us


@dataclass(frozen=True)
class ProcessorTimes:
    """The use of one processor in the window, in microseconds; `system` excludes interrupts."""

    processor: str
    user_us: int
    system_us: int
    irq_us: int
    softirq_us: int
    steal_us: int
    idle_us: int


@dataclass(frozen=True)
class GroupTime:
    """Processor time of a group of processes that an exporter names; the name is hostile."""

    name: str
    user_us: int
    system_us: int


@dataclass(frozen=True)
class ServerSide:
    """All readings of the server's processor time in one run.

    `used`: the source of the run's `server`, None without one. `missing`: the reason for each
    source that gave nothing. `program`: the name of the listening process. `idle`: the processor
    use before the load, in processors (0.03: 3 % of one), over `idle_seconds`. `processors_by`: the
    source of `processors`, `proc_stat` (this machine) or `node_exporter`.
    """

    used: Source | None
    sources: tuple[SourceTime, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    program: str = ""
    processors: tuple[ProcessorTimes, ...] = ()
    processors_by: str = "proc_stat"
    idle: float | None = None
    idle_seconds: float = 0.0
    groups: tuple[GroupTime, ...] = ()

    def of(self, source: Source) -> SourceTime | None:
        """The reading of one source; None if it gave none."""
        return next((each for each in self.sources if each.source == source), None)


@dataclass(frozen=True)
class PackageEnergy:
    """The energy that a processor package used in the window, in joules, whatever used it."""

    package: str
    joules: float
