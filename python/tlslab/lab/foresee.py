"""The forecast of a run: its plan and its duration, without a server, a folder or a measurement."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.factors import FACTORS
from tlslab.domain.names import NO_TLS
from tlslab.domain.plan import Cell, Plan
from tlslab.domain.wording import joined
from tlslab.lab.request import Request
from tlslab.servers import find_kind, lacking


@dataclass(frozen=True)
class Foreseen:
    """A plan, its duration in seconds, and the facts that are unknown until servers run.

    `at_most`: `seconds` is an upper bound, because the duration depends on results; `trials` then
    counts steps. `at_least`: the time after which the run may end early; None if it cannot.
    """

    plan: Plan
    trials: int
    seconds: float
    at_most: bool = False
    unknown: tuple[str, ...] = ()
    at_least: float | None = None


def seed_of(request: Request) -> int:
    """The requested seed, or a new one."""
    return random.SystemRandom().getrandbits(32) if request.seed is None else request.seed


def require_cells(plan: Plan) -> None:
    """Raises UsageError, with the reasons, for a plan that leaves every cell out."""
    if not plan.cells:
        reasons = "; ".join(dict.fromkeys(excluded.reason for excluded in plan.excluded))
        raise UsageError(
            f"no cell is left to run: {reasons}",
            "choose other levels with --set, or another --target",
        )


def refuse_factors_of_own_servers(experiment: Experiment) -> None:
    """Refuses factors that the lab cannot set at the server of a URL. Raises UsageError."""
    for factor, row in FACTORS.items():
        if row.own_servers and set(experiment.levels(factor)) - {row.off}:
            raise UsageError(
                f"the factor {factor} is set up at servers that the lab starts, not at a URL",
                f"leave {factor} out, or give --target NAME",
            )
    if NO_TLS in experiment.levels("tls"):
        raise UsageError(
            "tls=none is measured at servers that the lab starts, not at a URL",
            "leave none out, or give --target NAME; `tlslab load http://...` loads any server",
        )


def refusals(request: Request) -> Callable[[Cell], str | None]:
    """A function that returns the reason if a cell cannot run on the lab's servers.

    Raises UsageError for factors that a server of a URL cannot have.
    """
    if request.external:
        refuse_factors_of_own_servers(request.experiment)

    def refuse(cell: Cell) -> str | None:
        if request.external or cell.deployment is None:
            return None
        return lacking(cell.deployment)

    return refuse


def unknown_before(request: Request, plan: Plan) -> tuple[str, ...]:
    """The facts that are unknown until the servers run, one sentence each."""
    if request.external:
        return (
            "which versions, groups, suites and certificate keys "
            f"{joined(request.targets)} {'has' if len(request.targets) == 1 else 'have'}: "
            "cells that a server lacks will be left out",
        )
    names = {cell.deployment.server for cell in plan.cells if cell.deployment}
    fronts = [c.deployment.before for c in plan.cells if c.deployment]
    names |= {front.target for front in fronts if front is not None}
    missing = sorted(name for name in names if not find_kind(name).installed)
    reported = ["which groups and suites the servers' TLS libraries lack: such cells are left out"]
    reported += [f"{name} is not installed: {find_kind(name).remedy}" for name in missing]
    return tuple(reported)
