"""Benchmarks without a server: how they are run, and what came out of one process of one.

A trial has one process (a fork, in JMH's words) for each mode. `throughput` counts operations;
`sample` takes the time of some of them, spread evenly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tlslab.model.experiment import Experiment

Mode = Literal["throughput", "sample"]
MODES: tuple[Mode, ...] = ("throughput", "sample")

# Where the client's private key is.
KEY_STORES = ("memory", "pkcs11", "cluster")

BENCHMARKS = ("handshake-tls12", "handshake-tls13", "sign", "draw")

# The runtime that is no JVM: the lab's own engine.
ENGINE = "engine"

# The factors of such experiments, in the order of a cell's key.
FACTORS = ("runtime", "benchmark", "keys", "threads")


@dataclass(frozen=True)
class Faults:
    """What is done to one of the signing nodes while a load runs through the cluster.

    `kinds` are `none`, `slow`, `frozen`, `killed`; the fault comes at `at_s` of `seconds` and goes
    at `until_s` (a killed node is started anew). `policies` are those of the client: `none` tries
    each node in its turn, `eject` leaves out a node that has failed and tries another one.
    """

    benchmark: str
    threads: int
    kinds: tuple[str, ...]
    policies: tuple[str, ...]
    seconds: float
    at_s: float
    until_s: float


FAULT_KINDS = ("none", "slow", "frozen", "killed")
POLICIES = ("none", "eject")


@dataclass(frozen=True)
class BenchmarkSettings:
    """How every process of an experiment is run; lengths in milliseconds."""

    modes: tuple[Mode, ...]
    warmup_iterations: int
    warmup_ms: int
    iterations: int
    iteration_ms: int
    faults: Faults | None = None

    @property
    def seconds(self) -> float:
        """The length of one trial, without the starts of its processes."""
        once = self.warmup_iterations * self.warmup_ms + self.iterations * self.iteration_ms
        return len(self.modes) * once / 1000


def settings_of(experiment: Experiment) -> BenchmarkSettings:
    """The settings of an experiment of this kind."""
    assert isinstance(experiment.settings, BenchmarkSettings)
    return experiment.settings


@dataclass(frozen=True)
class Iteration:
    """One counted iteration; processor time is that of all threads, in microseconds.

    `operations` ended in `seconds`, all threads together. `cpu_us` is the benchmark's own process,
    with its compiler and collector; `signers_cpu_us` the processes that sign for it elsewhere, None
    where there are none.
    """

    operations: int
    seconds: float
    cpu_us: float
    signers_cpu_us: float | None = None


@dataclass(frozen=True)
class BenchmarkRun:
    """One process of a benchmark in one mode.

    `program` is `JMH 1.37` or the engine; `runtime` the virtual machine or the TLS library, with
    its version. `per_s` are operations per second of each counted iteration as the program itself
    gives them: those of the sample mode are worked out from what it has counted. `percentiles_ms`
    are times of an operation by their percent (`"99.9"`), over `samples` of them.
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
    """How a signing node has answered since the start: right, or failed, by what went wrong."""

    address: str
    answered: int
    failed: Mapping[str, int]


@dataclass(frozen=True)
class Slice:
    """One slice of a load's time: operations that ended in it, and their times."""

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
    """What was done to a node, and when, in seconds from the load's start."""

    at_s: float
    what: str


@dataclass(frozen=True)
class Timeline:
    """A load through the cluster, slice by slice, with what was done to a node meanwhile."""

    runtime: str
    benchmark: str
    threads: int
    fault: str
    policy: str
    slices: tuple[Slice, ...]
    events: tuple[FaultEvent, ...]
