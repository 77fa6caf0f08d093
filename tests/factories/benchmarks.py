"""Made-up runs of the kind `benchmark`: a scalability law, chosen costs, faults."""

from dataclasses import replace

import numpy as np

from tlslab.analysis.stats.scaling import law_value
from tlslab.domain.benchmark import (
    BenchmarkRun,
    FaultEvent,
    Iteration,
    Mode,
    NodeCount,
    Slice,
    Timeline,
)
from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Cell, PlannedTrial
from tlslab.domain.run import Environment, RunContents, TargetInfo
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment import loads, make_plan
from tlslab.experiment.benchmark import add_faults

TEXT = """
schema = "tlslab.experiment/2"
kind = "benchmark"
name = "concurrency"
title = "Made up"
published = "pix-2024"
blocks = 5

[factors]
runtime = ["jdk-17", "engine"]
benchmark = ["handshake-tls12", "sign", "draw"]
keys = ["memory", "pkcs11", "cluster"]
threads = ["1", "2", "4", "8", "16"]

[baseline]
keys = "memory"

[benchmark]
modes = ["throughput", "sample"]
warmup_iterations = 1
warmup_ms = 100
iterations = 3
iteration_ms = 1000

[faults]
benchmark = "sign"
threads = 4
kinds = ["none", "killed"]
policies = ["none", "eject"]
seconds = 12
at_s = 4
until_s = 8

[[exclude]]
when = { benchmark = "draw", keys = "pkcs11" }
reason = "no key"

[[exclude]]
when = { benchmark = "draw", keys = "cluster" }
reason = "no key"

[[exclude]]
when = { runtime = "engine", benchmark = "sign" }
reason = "handshakes only"

[[exclude]]
when = { runtime = "engine", benchmark = "draw" }
reason = "handshakes only"
"""

# The parameters of the law: rate of one thread, contention, coherency.
CURVES = {
    ("handshake-tls12", "memory"): (300.0, 0.5, 0.0),
    ("handshake-tls12", "pkcs11"): (340.0, 0.5, 0.0),
    ("handshake-tls12", "cluster"): (240.0, 0.3, 0.004),
    ("sign", "memory"): (900.0, 0.5, 0.0),
    ("sign", "pkcs11"): (1300.0, 0.5, 0.0),
    ("sign", "cluster"): (480.0, 0.3, 0.004),
    ("draw", "memory"): (80_000.0, 0.5, 0.0),
}

# Microseconds of each side per operation through the cluster.
GENERAL_US = {"handshake-tls12": 1500.0, "sign": 500.0}
SIGNING_US = {"handshake-tls12": 900.0, "sign": 1000.0}

CRASHED = Reason("benchmark_failed", "the virtual machine <b>crashed</b>")


def experiment() -> Experiment:
    return loads(TEXT, "made.toml")


def made_contents(noise: float = 0.02, seed: int = 4, failing: str = "") -> RunContents:
    """A run; trials of cells whose key contains `failing` fail in block 0."""
    wanted = experiment()
    plan = add_faults(make_plan(wanted, seed), wanted)
    draw = np.random.default_rng(seed)
    trials = [
        _trial(planned, plan.cell(planned.cell), float(np.exp(draw.normal(0, noise))), failing)
        for planned in plan.trials
    ]
    return RunContents(wanted, plan, environment(), tuple(trials))


def _trial(planned: PlannedTrial, cell: Cell, factor: float, failing: str) -> Trial:
    trial = Trial(
        trial=planned.trial,
        block=planned.block,
        position=planned.position,
        cell=cell.key,
        factors=cell.factors,
        started="2026-01-01T00:00:00.000+00:00",
        status="done",
    )
    if failing and failing in cell.key and planned.block == 0:
        return replace(trial, status="failed", reason=CRASHED)
    if "fault" in cell.factors:
        return replace(trial, timeline=made_timeline(cell))
    modes: tuple[Mode, ...] = ("throughput", "sample")
    return replace(trial, benchmarks={mode: made_run(cell, mode, factor) for mode in modes})


def made_run(cell: Cell, mode: Mode, factor: float = 1.0) -> BenchmarkRun:
    benchmark, keys = cell.factors["benchmark"], cell.factors["keys"]
    threads = int(cell.factors["threads"])
    rate = law_value(CURVES[benchmark, keys], threads) * factor
    away = keys == "cluster"
    general = GENERAL_US.get(benchmark, 12.0) / factor
    signing = SIGNING_US.get(benchmark, 0.0) / factor**0.5 if away else None
    operations = round(rate)
    iteration = Iteration(
        operations, 1.0, general * operations, None if signing is None else signing * operations
    )
    mean = 1000 * threads / rate
    sampled = mode == "sample"
    return BenchmarkRun(
        program="JMH 1.37",
        runtime="OpenJDK 64-Bit Server VM 17",
        mode=mode,
        threads=threads,
        arguments=("-Xmx1g",),
        warmup_iterations=1,
        per_s=(rate,) * 3,
        iterations=(iteration,) * 3,
        percentiles_ms={
            "50": 0.9 * mean, "90": 1.4 * mean, "99": 2.5 * mean, "99.9": 5 * mean, "100": 9 * mean
        } if sampled else None,
        mean_ms=mean if sampled else None,
        samples=5 * operations if sampled else 0,
    )  # fmt: skip


def made_timeline(cell: Cell) -> Timeline:
    """A node killed at 4 s; without ejection half of the operations then fail."""
    fault, policy = cell.factors["fault"], cell.factors["policy"]
    slices = []
    for second in range(1, 13):
        struck = fault == "killed" and second > 4
        failed = {"connection": 500} if struck and policy == "none" else {}
        completed = 1000 if not struck else 500
        node = NodeCount("198.18.0.2:8200", second * 500, {})
        slices.append(Slice(second, 1.0, completed, failed, 3.0, 9.0, 20.0, (node,)))
    events = (FaultEvent(4.0, "node a is killed"),) if fault == "killed" else ()
    return Timeline("JDK 17", "sign", 4, fault, policy, tuple(slices), events)


def environment() -> Environment:
    target = TargetInfo(
        name="in memory",
        managed=True,
        software="jdk-17: JDK 17.0.15 Debian",
        backend="memory: in the benchmark's own memory",
        processors=(0, 1),
        host="",
        path="",
    )
    return Environment(
        created="2026-01-01T00:00:00+00:00",
        tlslab="0.1.0",
        command=("tlslab", "run", "concurrency"),
        target=target,
        generator_processors=(0, 1),
        machine={"processor": "made up", "processors": 2, "usable_processors": 2},
        versions={"python": "3.11"},
    )
