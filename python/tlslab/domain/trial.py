"""The result of one trial of the lab: engine runs, with the resource use of both sides.

Units are microseconds or seconds, as the names say.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tlslab.contract.record import RunRecord
from tlslab.domain.benchmark import BenchmarkRun, Mode, Timeline
from tlslab.domain.validation import RateResult

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


TrialStatus = Literal["done", "unsupported", "failed"]
RunKind = Literal[
    "capacity", "client_cost", "keep_alive", "warm_up", "search", "maximum", "load", "remedy"
]


@dataclass(frozen=True)
class CpuSample:
    """Processor time since the start of the measurement, at `at_s` seconds after that start."""

    at_s: float
    user_us: int
    system_us: int


@dataclass(frozen=True)
class ServerUsage:
    """The server's resource use during the measurement, in most cases that of its process tree.

    `memory_bytes`: the proportional set size (or, if the kernel hides that, the resident size) at
    the end; None if only the machine is known. `handshakes`: the server's own count of full
    handshakes, if it keeps one. `source`: the source of the processor time; `error_us` and
    `bias_us` are those of `SourceTime`. `queued_us`: time for which its threads were ready and
    waited for a processor, added up over them; `throttled_us`: time for which its control group was
    throttled, added up over processors; None where they are not known.
    """

    user_us: int
    system_us: int
    seconds: float
    memory_bytes: int | None
    processes: int
    samples: tuple[CpuSample, ...] = ()
    handshakes: int | None = None
    source: Source = "started"
    error_us: int = 0
    bias_us: int = 0
    queued_us: int | None = None
    throttled_us: int | None = None


@dataclass(frozen=True)
class ProcessorUsage:
    """The use of one processor of the machine, as fractions of the measurement."""

    busy: float
    user: float
    system: float
    softirq: float
    steal: float
    irq: float = 0.0


@dataclass(frozen=True)
class MachineSample:
    """The whole machine's processor time since the start of the measurement."""

    at_s: float
    user_us: int
    system_us: int
    idle_us: int


@dataclass(frozen=True)
class MachineUsage:
    """The use of the whole machine during the measurement, in microseconds over all processors.

    `energy` is that of its processor packages; `no_energy` is the reason for missing values.
    """

    seconds: float
    user_us: int
    system_us: int
    idle_us: int
    softirq_us: int
    steal_us: int
    per_processor: tuple[ProcessorUsage, ...] = ()
    samples: tuple[MachineSample, ...] = ()
    energy: tuple[PackageEnergy, ...] = ()
    no_energy: str = ""


@dataclass(frozen=True)
class PaceSample:
    """A second of a run, at `at_s` from its first: rates, connections in flight, failures so far.

    Warm-up and drain are included. Times are service times of that second, None without any.
    """

    at_s: float
    connections_per_s: float
    in_flight: int
    failed: int
    service_p50_ms: float | None = None
    service_p99_ms: float | None = None


@dataclass(frozen=True)
class TrialRun:
    """One engine run of a trial; `server` is None if its processor time is not known.

    `pace`: the run second by second, if that was kept. `side`: all sources of the server's
    processor time, for a server that the lab did not start.
    """

    record: RunRecord
    machine: MachineUsage
    server: ServerUsage | None = None
    pace: tuple[PaceSample, ...] = ()
    side: ServerSide | None = None


@dataclass(frozen=True)
class Reason:
    """The reason that a trial has no runs.

    `class_` is a failure class of the engine or of the lab.
    """

    class_: str
    message: str


@dataclass(frozen=True)
class Trial:
    """One trial: a cell's two runs, or the reason for their absence.

    `trial`, `block`, `position` and `cell` are those of the plan; `started` is ISO 8601 in UTC.
    `validation`: the result of a packet capture beside the run, if one was made. A failed trial has
    no runs, except the run in which a generator was lost, as far as it was measured. Trials of the
    kind `benchmark` have `benchmarks` or a `timeline` in place of runs.

    `attempts`: how often it was measured, because one side did not get its processors in earlier
    attempts. `set_aside`: it is such an attempt, kept beside the run and part of no result.
    `sitting`: the number of the sitting in which it was made (domain.run.Sitting).
    """

    trial: int
    block: int
    position: int
    cell: str
    factors: Mapping[str, str]
    started: str
    status: TrialStatus
    reason: Reason | None = None
    runs: Mapping[RunKind, TrialRun] = field(default_factory=dict)
    validation: RateResult | None = None
    benchmarks: Mapping[Mode, BenchmarkRun] = field(default_factory=dict)
    timeline: Timeline | None = None
    attempts: int = 1
    set_aside: bool = False
    sitting: int = 0
