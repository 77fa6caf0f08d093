"""The kind `benchmark`: the tables [benchmark] and [faults]."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tlslab.domain.benchmark import (
    BENCHMARKS,
    ENGINE,
    FAULT_KINDS,
    KEY_STORES,
    MODES,
    POLICIES,
    SHARED,
    BenchmarkSettings,
    Faults,
    settings_of,
    split_words,
)
from tlslab.domain.experiment import Experiment
from tlslab.domain.factors import FactorRow, Rule, count_rule, pattern_rule
from tlslab.domain.plan import Cell, Plan, PlannedTrial
from tlslab.domain.profile import Profile
from tlslab.domain.workload import Workload
from tlslab.experiment.cells import cell_key
from tlslab.experiment.file_kinds import FileKind
from tlslab.experiment.short import MEASURE_MS
from tlslab.toml_table import Table, toml

LIMIT_ITERATIONS = 1000
LIMIT_MS = 3_600_000
LIMIT_THREADS = 1024
LIMIT_S = 3600

_FACTORS = {
    row.name: row
    for row in (
        FactorRow(
            "runtime",
            pattern_rule(
                r"jdk(-[A-Za-z0-9.-]{1,60})?",
                "jdk (all that are found), jdk-newest, jdk-17 and the like",
                (ENGINE,),
            ),
        ),
        FactorRow("benchmark", Rule(BENCHMARKS)),
        FactorRow("keys", Rule(KEY_STORES)),
        FactorRow("threads", count_rule(LIMIT_THREADS)),
        FactorRow(
            "split",
            pattern_rule(
                r"[1-9]\d{0,2}:[1-9]\d{0,2}",
                "shared (both sides on all processors), or general:signing such as 1:2",
                (SHARED,),
            ),
            absent=SHARED,
            label=split_words,
        ),
    )
}

# Nothing is sent to a server, so that a workload has no meaning.
NO_WORKLOAD = Workload(document_bytes=0, connections=0, requests_per_connection=0)

_COUNTS = {
    "warmup_iterations": (0, LIMIT_ITERATIONS),
    "warmup_ms": (10, LIMIT_MS),
    "iterations": (1, LIMIT_ITERATIONS),
    "iteration_ms": (10, LIMIT_MS),
}


def _faults(table: Table) -> Faults:
    table.only("benchmark", "threads", "kinds", "policies", "seconds", "at_s", "until_s")
    benchmark = table.text("benchmark")
    if benchmark not in BENCHMARKS or benchmark == "draw":
        raise table.error("must be a benchmark that signs", "benchmark")
    seconds = table.integer("seconds", 2, LIMIT_S)
    at = table.integer("at_s", 0, seconds - 1)
    return Faults(
        benchmark=benchmark,
        threads=table.integer("threads", 1, LIMIT_THREADS),
        kinds=table.names("kinds", FAULT_KINDS),
        policies=table.names("policies", POLICIES),
        seconds=seconds,
        at_s=at,
        until_s=table.integer("until_s", at + 1, seconds),
    )


class BenchmarkFile(FileKind):
    """Operations in memory, without a server."""

    tables = ("benchmark", "faults")
    factors = _FACTORS
    has_server = False
    finds_jdks = True
    why_fixed = "curve and knee are fitted to all threads of every block"

    def read(self, root: Table, changes: Table) -> Mapping[str, Any]:
        """The fields `workload` and `settings` of an experiment."""
        base = root.table("benchmark")
        changed = changes.table("benchmark") if "benchmark" in changes else base
        for table in (base, changed):
            table.only("modes", *_COUNTS)
        counts = {
            name: (changed if name in changed else base).integer(name, *bounds)
            for name, bounds in _COUNTS.items()
        }
        modes = (changed if "modes" in changed else base).names("modes", MODES)
        ordered = tuple(mode for mode in MODES if mode in modes)
        source = changes if "faults" in changes else root
        faults = _faults(source.table("faults")) if "faults" in source else None
        settings = BenchmarkSettings(modes=ordered, faults=faults, **counts)
        return {"workload": NO_WORKLOAD, "settings": settings}

    def write(self, experiment: Experiment) -> list[str]:
        """The lines from which `read` restores the experiment."""
        settings = settings_of(experiment)
        lines = ["", "[benchmark]", f"modes = {toml(settings.modes)}"]
        lines += [f"{name} = {getattr(settings, name)}" for name in _COUNTS]
        if (faults := settings.faults) is not None:
            lines += ["", "[faults]", f"benchmark = {toml(faults.benchmark)}"]
            lines += [f"threads = {faults.threads}", f"kinds = {toml(faults.kinds)}"]
            lines += [f"policies = {toml(faults.policies)}"]
            lines += [
                f"{name} = {getattr(faults, name):g}" for name in ("seconds", "at_s", "until_s")
            ]
        return lines

    def shortened(self, settings: BenchmarkSettings) -> BenchmarkSettings:
        """One mode and one short iteration, without faults."""
        return replace(
            settings,
            modes=settings.modes[-1:],
            warmup_iterations=1,
            warmup_ms=min(settings.warmup_ms, MEASURE_MS),
            iterations=1,
            iteration_ms=min(settings.iteration_ms, MEASURE_MS),
            faults=None,
        )

    def with_blocks(self, experiment: Experiment, blocks: int) -> Experiment:
        """The experiment with N forks of each cell."""
        return replace(experiment, blocks=blocks)

    def with_seconds(self, experiment: Experiment, seconds: float) -> Experiment:
        """The experiment with iterations that share this time."""
        settings = settings_of(experiment)
        each = max(10, round(round(seconds * 1000) / settings.iterations))
        return replace(experiment, settings=replace(settings, iteration_ms=each))


def add_faults(plan: Plan, experiment: Experiment) -> Plan:
    """The plan with a trial of each fault and policy at the end of each block.

    These trials run on the last virtual machine among the runtimes, and only if keys are on the
    cluster. The same seed gives the same order.
    """
    settings = settings_of(experiment)
    machines = [level for level in experiment.levels("runtime") if level != ENGINE]
    if settings.faults is None or not machines or "cluster" not in experiment.levels("keys"):
        return plan
    faults = settings.faults
    cells = tuple(
        _cell(
            {
                "runtime": machines[-1],
                "benchmark": faults.benchmark,
                "keys": "cluster",
                "threads": str(faults.threads),
                "fault": kind,
                "policy": policy,
            }
        )
        for kind in faults.kinds
        for policy in faults.policies
    )
    draw = random.Random(f"{plan.seed} faults")
    trials: list[PlannedTrial] = []
    for block in range(plan.blocks):
        order = [trial.cell for trial in plan.trials if trial.block == block]
        extra = [cell.key for cell in cells]
        draw.shuffle(extra)
        for position, key in enumerate(order + extra):
            trials.append(PlannedTrial(len(trials), block, position, key))
    return replace(plan, cells=(*plan.cells, *cells), trials=tuple(trials))


def _cell(factors: dict[str, str]) -> Cell:
    return Cell(cell_key(factors), factors, Profile())
