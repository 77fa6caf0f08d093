"""Many made-up runs of the same two cells, with chosen costs for each run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from factories.run import SERVER_US, World, made_run
from factories.worded import summarise
from tlslab.analysis.history import Run
from tlslab.domain.finding import CellSummary, Summary
from tlslab.experiment import dumps, load, with_levels
from tlslab.lab.store import RunFolder

FEW = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256")}

BEGAN = datetime(2026, 3, 1, 9, 26, 53, tzinfo=UTC)

NOISE = 0.01

_RATE = "connections_per_s"
_COST = "server_cpu_us_per_connection"


def day(number: int) -> str:
    """The start of the run of this day."""
    return (BEGAN + timedelta(days=number)).isoformat()


@cache
def _base() -> Summary:
    return summarise(made_run(quick=True, experiment=_experiment()))


def _experiment() -> Any:
    return with_levels(load("groups", "quick"), FEW)


def made_runs(
    slower: Mapping[str, Sequence[float]],
    seed: int = 1,
    noise: float = NOISE,
    facts: Sequence[Mapping[str, Any]] = (),
) -> list[Run]:
    """Runs on consecutive days; `slower`: a group's cost in each run, as a multiple of the usual.

    `facts`: replacements for the usual environment of each run, by field.
    """
    random = np.random.default_rng(seed)
    count = len(next(iter(slower.values())))
    runs = []
    for number in range(count):
        cells = tuple(
            _scaled(cell, slower.get(cell.factors["group"], [1.0] * count)[number], random, noise)
            for cell in _base().cells
        )
        where = replace(_base().environment, created=day(number))
        if facts:
            where = replace(where, **facts[number])
        summary = replace(_base(), cells=cells, environment=where)
        runs.append(Run(f"run-{number:02}", summary))
    return runs


def _scaled(
    cell: CellSummary, slower: float, random: np.random.Generator, noise: float
) -> CellSummary:
    estimates = dict(cell.estimates)
    for name, factor in ((_RATE, 1 / slower), (_COST, slower)):
        shown = factor * float(np.exp(noise * random.normal()))
        estimates[name] = replace(estimates[name], value=1000.0 * shown)
    if "requests_per_s" in estimates:  # each connection has one request
        requests = replace(estimates["requests_per_s"], value=estimates[_RATE].value)
        estimates["requests_per_s"] = requests
    return replace(cell, estimates=estimates)


def write_run(path: Path, number: int, slower: float = 1.0, noise: float = NOISE) -> Path:
    """A whole run folder for the run of this day; P-256 costs `slower` times as much."""
    costs = {**SERVER_US, "P-256": SERVER_US["P-256"] * slower}
    made = made_run(World(server_us=costs, noise=noise, seed=number), experiment=_experiment())
    environment = replace(made.environment, created=day(number))
    folder = RunFolder.create(path, dumps(made.experiment), made.plan, environment)
    for trial in made.trials:
        folder.append(trial)
    return path
