"""The order of the trials: randomised blocks over all cells.

Each block runs every cell once in an order of its own, so that drift of the machine hits all cells
alike, and cells can be compared within blocks (Abedi and Brecht 2017, randomised multiple
interleaved trials).
"""

import random

from tlslab.model.experiment import Experiment
from tlslab.model.plan import Cell, Excluded, Plan, PlannedTrial
from tlslab.planning.cells import make_cells


def make_plan(
    experiment: Experiment, seed: int, unavailable: dict[tuple[str, str], str] | None = None
) -> Plan:
    """The plan of an experiment; the same seed always gives the same plan.

    `unavailable` maps a factor's level, as `("group", "X448")`, to the reason why the target has
    not got it: such cells are excluded with that reason.
    """
    cells, excluded = make_cells(experiment)
    kept, dropped = _without(cells, unavailable or {})
    return Plan(
        seed=seed,
        blocks=experiment.blocks,
        cells=kept,
        excluded=excluded + dropped,
        trials=tuple(_blocks(kept, experiment.blocks, seed)),
    )


def _without(
    cells: tuple[Cell, ...], unavailable: dict[tuple[str, str], str]
) -> tuple[tuple[Cell, ...], tuple[Excluded, ...]]:
    kept: list[Cell] = []
    dropped: list[Excluded] = []
    for cell in cells:
        reasons = [reason for level in cell.factors.items() if (reason := unavailable.get(level))]
        if reasons:
            dropped.append(Excluded(cell.factors, reasons[0]))
        else:
            kept.append(cell)
    return tuple(kept), tuple(dropped)


def _blocks(cells: tuple[Cell, ...], blocks: int, seed: int) -> list[PlannedTrial]:
    draw = random.Random(seed)
    trials: list[PlannedTrial] = []
    for block in range(blocks):
        order = [cell.key for cell in cells]
        draw.shuffle(order)
        for position, key in enumerate(order):
            trials.append(PlannedTrial(len(trials), block, position, key))
    return trials
