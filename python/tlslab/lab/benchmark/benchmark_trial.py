"""One trial of a benchmark: a fork of each mode, or a load with a fault."""

import datetime
import os
import shutil
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from tlslab.domain.benchmark import (
    ENGINE,
    SHARED,
    BenchmarkRun,
    BenchmarkSettings,
    Mode,
    Timeline,
    split_of,
)
from tlslab.domain.errors import CannotRunError
from tlslab.domain.plan import Cell, PlannedTrial
from tlslab.domain.trial import Reason, Trial, TrialStatus
from tlslab.domain.wording import counted
from tlslab.lab.benchmark.in_memory import run_in_memory
from tlslab.lab.benchmark.jmh import Fork, ForkFailedError, run_fork
from tlslab.lab.benchmark.keystores import KeyStore, KeyStores, Material
from tlslab.lab.benchmark.runtimes import Runtimes
from tlslab.lab.benchmark.timeline import run_timeline
from tlslab.lab.generators import GeneratorPool

# The classes of reasons that will not change in the next block: the cell is not tried again.
KEYS_MISSING = "keys_missing"
RUNTIME_MISSING = "runtime_missing"
LASTING = (KEYS_MISSING, RUNTIME_MISSING, "unsupported")

# The folder of a run for JMH's own files.
RAW = "jmh"


@dataclass(frozen=True)
class Bench:
    """The shared state of a run's trials; `run` is its folder, `jar` is None without a JVM."""

    engine: GeneratorPool
    runtimes: Runtimes
    stores: KeyStores
    material: Material
    settings: BenchmarkSettings
    jar: Path | None
    run: Path


def run_trial(bench: Bench, planned: PlannedTrial, cell: Cell) -> Trial:
    """Runs a trial; a failure becomes the reason in the trial, not an exception."""
    trial = Trial(
        trial=planned.trial,
        block=planned.block,
        position=planned.position,
        cell=cell.key,
        factors=cell.factors,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        status="done",
    )
    try:
        if "fault" in cell.factors:
            return replace(trial, timeline=_timeline(bench, cell))
        return replace(trial, benchmarks=_benchmarks(bench, planned, cell))
    except ForkFailedError as error:
        reason = Reason(error.class_, error.message)
        status: TrialStatus = "unsupported" if error.class_ == "unsupported" else "failed"
        return replace(trial, status=status, reason=reason)
    except CannotRunError as error:
        words = ": ".join(filter(None, (error.message, error.remedy)))
        return replace(trial, status="failed", reason=Reason("cannot_run", words))


def _benchmarks(bench: Bench, planned: PlannedTrial, cell: Cell) -> Mapping[Mode, BenchmarkRun]:
    factors = cell.factors
    keys = bench.stores[factors["keys"]]
    if keys.failure:
        raise ForkFailedError(KEYS_MISSING, keys.failure)
    threads = int(factors["threads"])
    if factors["runtime"] == ENGINE:
        return run_in_memory(bench.engine, factors["benchmark"], keys, threads, bench.settings)
    general, signing = _processors(factors.get("split", SHARED))
    fork = replace(make_fork(bench, factors, keys), processors=general)
    raw = bench.run / RAW
    raw.mkdir(exist_ok=True)
    result, log = raw / f"trial-{planned.trial}.json", bench.material.folder / "fork.log"
    nodes = keys.cluster.on(signing) if keys.cluster and signing else nullcontext()
    try:
        with nodes:
            return run_fork(fork, result, log)
    except ForkFailedError:
        if log.is_file():
            shutil.copyfile(log, raw / f"trial-{planned.trial}.log")
        raise


def _processors(split: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The processors of the general and of the signing side; empty: all.

    Raises ForkFailedError if there are too few.
    """
    sides = split_of(split)
    if sides is None:
        return (), ()
    usable = tuple(sorted(os.sched_getaffinity(0)))
    if sum(sides) > len(usable):
        have = counted(len(usable), "processor")
        raise ForkFailedError(
            "unsupported", f"{split} needs {sum(sides)} processors, and the machine has {have}"
        )
    return usable[: sides[0]], usable[sides[0] : sum(sides)]


def make_fork(bench: Bench, factors: Mapping[str, str], keys: KeyStore) -> Fork:
    """The fork for a cell's factors. Raises ForkFailedError for a broken JDK."""
    runtime = factors["runtime"]
    if runtime in bench.runtimes.broken:
        raise ForkFailedError(RUNTIME_MISSING, bench.runtimes.broken[runtime].reason)
    assert bench.jar is not None  # a JVM among the runtimes requires the jar
    warm_up_ms = bench.settings.warmup_iterations * bench.settings.warmup_ms
    # In the warm-up, which does not count, a cold JVM may keep requests waiting.
    patient = {"cluster.patient_ms": str(warm_up_ms)} if keys.name == "cluster" else {}
    return Fork(
        jdk=bench.runtimes.jdks[runtime],
        jar=bench.jar,
        benchmark=factors["benchmark"],
        keys=keys,
        threads=int(factors["threads"]),
        settings_file=bench.material.write_settings(keys.name, {**keys.settings, **patient}),
        settings=bench.settings,
    )


def _timeline(bench: Bench, cell: Cell) -> Timeline:
    factors = cell.factors
    assert bench.settings.faults is not None  # Such cells are planned only with faults.
    keys = bench.stores["cluster"]
    if keys.failure:
        raise ForkFailedError(KEYS_MISSING, keys.failure)
    fork = make_fork(bench, factors, keys)
    fault = factors["fault"]
    try:
        return run_timeline(fork, bench.material, bench.settings.faults, fault, factors["policy"])
    finally:
        if fault == "killed":
            bench.stores.renew("cluster")
