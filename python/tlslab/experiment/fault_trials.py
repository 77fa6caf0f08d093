"""Trials in addition to the factors' cells: loads on signing nodes with one node at fault."""

import random
from dataclasses import replace

from tlslab.domain.benchmark import ENGINE, settings_of
from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Cell, Plan, PlannedTrial
from tlslab.domain.profile import Profile
from tlslab.experiment.cells import cell_key


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
