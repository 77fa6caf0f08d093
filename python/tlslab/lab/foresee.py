"""What a run would be: its plan and its length, without a server, a folder or a measurement."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tlslab.lab.benchmark.run import mean_seconds, with_runtimes
from tlslab.lab.benchmark.runtimes import Runtimes
from tlslab.lab.capacity.conductor import steps_left
from tlslab.lab.capacity.run import for_external, without_order
from tlslab.lab.request import Request
from tlslab.lab.run import matrix_seconds
from tlslab.model.capacity import CapacityPlan
from tlslab.model.deployment import NO_FRONT
from tlslab.model.errors import UsageError
from tlslab.model.experiment import BENCHMARK, CAPACITY, MATRIX
from tlslab.model.plan import Cell, Plan
from tlslab.planning import make_plan
from tlslab.planning.faults import add_faults
from tlslab.planning.obsolete import obsolete_cell
from tlslab.targets import find_kind, lacking
from tlslab.targets.jdk import find_jdks


@dataclass(frozen=True)
class Foreseen:
    """A plan, the time that it takes in seconds, and what only the server itself knows.

    `at_most`: the run ends after `seconds` at the latest, and `trials` counts steps.
    """

    plan: Plan
    trials: int
    seconds: float
    at_most: bool = False
    unknown: tuple[str, ...] = ()


def foresee(request: Request) -> Foreseen:
    """The plan and the length of a run. Raises UsageError."""
    return _FORESEEN[request.experiment.kind](request)


def _seed(request: Request) -> int:
    return random.SystemRandom().getrandbits(32) if request.seed is None else request.seed


def _refuse(request: Request) -> Callable[[Cell], str | None]:
    """What the lab itself knows to be impossible with the servers that it starts."""

    def refuse(cell: Cell) -> str | None:
        if request.external or cell.deployment is None:
            return None
        return lacking(cell.deployment)

    return refuse


def _unknown(request: Request, plan: Plan) -> tuple[str, ...]:
    if request.external:
        return (
            f"which versions, groups, suites and certificate keys {request.targets[0]} has: "
            "cells that it lacks will be left out",
        )
    names = {cell.deployment.server for cell in plan.cells if cell.deployment}
    names |= {c.deployment.front for c in plan.cells if c.deployment} - {NO_FRONT}
    missing = sorted(name for name in names if not find_kind(name).installed)
    reported = ["which groups and suites the servers' TLS libraries lack: such cells are left out"]
    reported += [f"{name} is not installed: {find_kind(name).remedy}" for name in missing]
    return tuple(reported)


def _matrix(request: Request) -> Foreseen:
    plan = make_plan(request.experiment, _seed(request), _refuse(request), request.targets[0])
    seconds = len(plan.trials) * matrix_seconds(request.experiment.workload)
    return Foreseen(plan, len(plan.trials), seconds, unknown=_unknown(request, plan))


def _load(request: Request) -> Foreseen:
    load = request.experiment.settings
    assert isinstance(load, CapacityPlan)
    experiment = request.experiment
    if request.external:
        if load.obsolete is not None:
            raise UsageError("--allow-obsolete is for servers that the lab starts")
        experiment = for_external(experiment, load)
        load = experiment.settings
    plan = make_plan(experiment, _seed(request), _refuse(request), request.targets[0])
    extra = () if load.obsolete is None else (obsolete_cell(load.obsolete),)
    plan = without_order(plan, extra)
    left = steps_left(load, plan, {cell.key: [] for cell in plan.cells})
    return Foreseen(plan, left.steps, left.seconds, True, _unknown(request, plan))


def _benchmark(request: Request) -> Foreseen:
    runtimes = Runtimes.of(find_jdks(request.jdks))
    experiment = with_runtimes(request.experiment, runtimes, request.jdks)
    plan = add_faults(make_plan(experiment, _seed(request)), experiment)
    seconds = len(plan.trials) * mean_seconds(plan, experiment.settings)
    return Foreseen(plan, len(plan.trials), seconds)


_FORESEEN: Mapping[str, Callable[[Request], Foreseen]] = {
    MATRIX: _matrix,
    CAPACITY: _load,
    BENCHMARK: _benchmark,
}
