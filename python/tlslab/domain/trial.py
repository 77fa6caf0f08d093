"""The result of one trial of the lab: engine runs, with the resource use of both sides.

Units are microseconds or seconds, as the names say.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tlslab.domain.benchmark import BenchmarkRun, Mode, Timeline
from tlslab.domain.record import RunRecord
from tlslab.domain.server_side import PackageEnergy, ServerSide, Source
from tlslab.domain.validation import RateResult

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
