"""The order of the trials: randomised blocks over all cells.

Each block runs every cell once in an order of its own, so that drift of the machine hits all cells
alike, and cells can be compared within blocks (Abedi and Brecht 2017, randomised multiple
interleaved trials). Cells that share a deployment follow each other, so that a server is started
once per block; the order of the deployments is random as well.
"""

import random
from collections.abc import Callable, Mapping

from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Cell, Excluded, Plan, PlannedTrial
from tlslab.experiment.cells import make_cells

Refuse = Callable[[Cell], str | None]


def make_plan(
    experiment: Experiment,
    seed: int,
    refuse: Refuse = lambda cell: None,
    server: str = "reference",
) -> Plan:
    """The plan of an experiment; the same seed always gives the same plan.

    `refuse` returns the reason for a cell that the target does not support; such cells are excluded
    with that reason. `server` is the server of all cells if the experiment has no such factor.
    """
    cells, excluded = make_cells(experiment, server)
    kept, dropped = _without(cells, refuse)
    return Plan(
        seed=seed,
        blocks=experiment.blocks,
        cells=kept,
        excluded=excluded + dropped,
        trials=tuple(_blocks(kept, experiment.blocks, seed)),
    )


def refuse_levels(unavailable: Mapping[tuple[str, str], str]) -> Refuse:
    """A function that refuses cells with levels, as `("group", "X448")`, that the target lacks."""
    return lambda cell: next(
        (unavailable[level] for level in cell.factors.items() if level in unavailable), None
    )


def _without(
    cells: tuple[Cell, ...], refuse: Refuse
) -> tuple[tuple[Cell, ...], tuple[Excluded, ...]]:
    kept: list[Cell] = []
    dropped: list[Excluded] = []
    for cell in cells:
        if reason := refuse(cell):
            dropped.append(Excluded(cell.factors, reason))
        else:
            kept.append(cell)
    return tuple(kept), tuple(dropped)


def _blocks(cells: tuple[Cell, ...], blocks: int, seed: int) -> list[PlannedTrial]:
    draw = random.Random(seed)
    trials: list[PlannedTrial] = []
    for block in range(blocks):
        order = _draw_order(cells, draw)
        for position, key in enumerate(order):
            trials.append(PlannedTrial(len(trials), block, position, key))
    return trials


def _draw_order(cells: tuple[Cell, ...], draw: random.Random) -> list[str]:
    """The keys of all cells, with those of one deployment side by side."""
    deployments = list(dict.fromkeys(cell.deployment for cell in cells))
    if len(deployments) > 1:
        draw.shuffle(deployments)
    order: list[str] = []
    for deployment in deployments:
        keys = [cell.key for cell in cells if cell.deployment == deployment]
        draw.shuffle(keys)
        order += keys
    return order
