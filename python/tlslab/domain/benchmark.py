"""Benchmarks without a server: their settings, and the results of one process.

A trial has one process (a fork, in JMH's words) for each mode. `throughput` counts operations;
`sample` times a sample of them, spread evenly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tlslab.domain.experiment import Experiment

Mode = Literal["throughput", "sample"]
MODES: tuple[Mode, ...] = ("throughput", "sample")

# The places where the client's private key can be kept.
KEY_STORES = ("memory", "pkcs11", "cluster")

BENCHMARKS = ("handshake-tls12", "handshake-tls13", "sign", "draw")

# The general side (the benchmark's own process) and the signing nodes share all processors, or each
# has some of its own: `1:2`.
SHARED = "shared"


def split_of(level: str) -> tuple[int, int] | None:
    """The general and the signing processors of a level; None if both sides share all."""
    if level == SHARED:
        return None
    general, _, signing = level.partition(":")
    return int(general), int(signing)


def split_words(level: str) -> str:
    """A level in words: `1 general : 2 signing processors`."""
    sides = split_of(level)
    return level if sides is None else f"{sides[0]} general : {sides[1]} signing processors"


# The only runtime that is not a JVM: the lab's own engine.
ENGINE = "engine"


@dataclass(frozen=True)
class Faults:
    """Faults that are injected into one signing node while a load runs through the cluster.

    `kinds`: `none`, `slow`, `frozen`, `killed`. The fault starts at `at_s` of `seconds` and ends at
    `until_s`; a killed node stays dead to the end of the load. `policies` are the client's: `none`
    tries the nodes in turn; `eject` skips a node that has failed and tries another one.
    """

    benchmark: str
    threads: int
    kinds: tuple[str, ...]
    policies: tuple[str, ...]
    seconds: float
    at_s: float
    until_s: float


# The load without a fault, with which the others are compared.
CONTROL = "none"
FAULT_KINDS = (CONTROL, "slow", "frozen", "killed")

POLICY_WORDS: Mapping[str, str] = {
    "none": "each node in its turn",
    "eject": "a failed node left out for 5 s, one more try",
}
POLICIES = tuple(POLICY_WORDS)


@dataclass(frozen=True)
class BenchmarkSettings:
    """Settings of every process of an experiment; durations in milliseconds."""

    modes: tuple[Mode, ...]
    warmup_iterations: int
    warmup_ms: int
    iterations: int
    iteration_ms: int
    faults: Faults | None = None

    @property
    def seconds(self) -> float:
        """The duration of one trial in seconds, without process starts."""
        once = self.warmup_iterations * self.warmup_ms + self.iterations * self.iteration_ms
        return len(self.modes) * once / 1000


def settings_of(experiment: Experiment) -> BenchmarkSettings:
    """The settings of an experiment of this kind."""
    assert isinstance(experiment.settings, BenchmarkSettings)
    return experiment.settings


@dataclass(frozen=True)
class Iteration:
    """One counted iteration.

    `operations` completed in `seconds`, over all threads. Processor times are those of all threads,
    in microseconds: `cpu_us` of the benchmark's own process, including its compiler and garbage
    collector; `signers_cpu_us` of the processes that sign for it elsewhere, None without such
    processes.
    """

    operations: int
    seconds: float
    cpu_us: float
    signers_cpu_us: float | None = None


@dataclass(frozen=True)
class BenchmarkRun:
    """One process of a benchmark in one mode.

    `program` is `JMH 1.37` or the engine; `runtime` the virtual machine or the TLS library, with
    its version. `per_s`: operations per second of each counted iteration, as reported by the
    program; in mode `sample`, computed from the program's counts. `percentiles_ms`: operation times
    by percentile (`"99.9"`), over `samples` operations.
    """

    program: str
    runtime: str
    mode: Mode
    threads: int
    arguments: tuple[str, ...]
    warmup_iterations: int
    per_s: tuple[float, ...]
    iterations: tuple[Iteration, ...] = ()
    percentiles_ms: Mapping[str, float] | None = None
    mean_ms: float | None = None
    samples: int = 0

    @property
    def rate(self) -> float:
        """Operations per second over the counted iterations."""
        return sum(self.per_s) / len(self.per_s)


@dataclass(frozen=True)
class NodeCount:
    """The answers of a signing node since the start: correct ones, and failures by class."""

    address: str
    answered: int
    failed: Mapping[str, int]


@dataclass(frozen=True)
class Slice:
    """One slice of a load: the operations that ended in the slice, and their times."""

    at_s: float
    seconds: float
    completed: int
    failed: Mapping[str, int]
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    nodes: tuple[NodeCount, ...] = ()


@dataclass(frozen=True)
class FaultEvent:
    """One action on a node, and its time in seconds from the start of the load."""

    at_s: float
    what: str


@dataclass(frozen=True)
class Timeline:
    """A load through the cluster, slice by slice, with the faults injected meanwhile."""

    runtime: str
    benchmark: str
    threads: int
    fault: str
    policy: str
    slices: tuple[Slice, ...]
    events: tuple[FaultEvent, ...]
