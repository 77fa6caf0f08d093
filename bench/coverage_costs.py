"""Simulations of costs: of parts and mixes, of parts by samples, and of the sources of noise."""

from collections.abc import Mapping
from functools import cache

import numpy as np

from bench.noise import Draw, Trial, cell, holds
from tlslab.analysis.components import Components, components
from tlslab.analysis.costs.cost_parts import KILOBYTE, parts_of
from tlslab.analysis.costs.model import CostModel, checks, fit
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.stats.estimate import estimate
from tlslab.analysis.why.effects import effect_checks
from tlslab.analysis.why.shares import share_of
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import SERVER_COST
from tlslab.domain.experiment import Experiment
from tlslab.domain.stacks import CellWhy, CostPart
from tlslab.experiment import load

# The noise of a block and, within the block, of a trial.
_NOISE = 0.02

# The server's cost of one unit of a part in microseconds; for bytes, of a kilobyte.
_PART_US, _KILOBYTE_US = 60.0, 0.4

# The number of samples of a cell's call stacks.
_SAMPLES = 3_000

# Rates of deployments with several cells each: standard deviations of a trial and of a start.
_TRIAL, _START = 0.02, 0.03
_DEPLOYMENTS, _CELLS = 4, 5


@cache
def _calibrate() -> Experiment:
    return load("calibrate")


def _mix(**levels: str) -> dict[str, str]:
    """The centre of the shipped calibration with these levels changed."""
    return {**_calibrate().centre, "resumed": "60%", "document_bytes": "4096", **levels}


def _true_cost(factors: Mapping[str, str]) -> float:
    """The cost of a mix's connection if its parts add up."""
    counts = parts_of(factors, _calibrate())
    return sum(
        count * (_KILOBYTE_US if name.endswith(KILOBYTE) else _PART_US)
        for name, count in counts.items()
    )


def _fitted(draw: Draw, blocks: int) -> CostModel | None:
    block = draw.normal(0, _NOISE, blocks)
    cells = []
    for number, levels in enumerate(_calibrate().fitted()):
        costs = _true_cost(levels) * np.exp(block + draw.normal(0, _NOISE, blocks))
        cells.append(cell(f"{number}", {SERVER_COST: costs}, levels))
    return fit(cells, _calibrate())


def mix(blocks: int) -> Trial:
    """The cost of a mix's connection by a calibration without that mix."""
    wanted = _mix(requests="8")

    def trial(draw: Draw) -> bool | None:
        model = _fitted(draw, blocks)
        if model is None:
            return None
        found = model.cost(wanted)
        return holds(found.low, found.high, _true_cost(wanted))

    return trial


def held_out(blocks: int, off: float) -> Trial:
    """The modelled cost over the measured one, for a mix that costs `off` times its parts."""
    wanted = _mix(requests="4")

    def trial(draw: Draw) -> bool | None:
        model = _fitted(draw, blocks)
        if model is None:
            return None
        costs = off * _true_cost(wanted) * np.exp(draw.normal(0, _NOISE, blocks))
        (check,) = checks(model, [cell("held out", {SERVER_COST: costs}, wanted)])
        return holds(check.ratio.low, check.ratio.high, 1 / off)

    return trial


def planned(blocks: int, off: float) -> Trial:
    """The cost for planning a load; mixes cost `off` times their parts, as a held-out mix shows."""
    wanted, known = _mix(requests="8"), _mix(requests="4")

    def trial(draw: Draw) -> bool | None:
        model = _fitted(draw, blocks)
        if model is None:
            return None
        costs = off * _true_cost(known) * np.exp(draw.normal(0, _NOISE, blocks))
        found = checks(model, [cell("held out", {SERVER_COST: costs}, known)])
        cost = size(model, found, wanted, Bounds(0.8, None), processors=1).cost
        return holds(cost.low, cost.high, off * _true_cost(wanted))

    return trial


def _measured(draw: Draw, cost: float, blocks: int) -> Estimate:
    return estimate((cost * np.exp(draw.normal(0, _NOISE, blocks))).tolist(), "us")


def sampled_part(blocks: int, part: float) -> Trial:
    """A part of a cost of 500 µs, by samples of call stacks and the measured cost."""

    def trial(draw: Draw) -> bool | None:
        count = int(draw.binomial(_SAMPLES, part))
        found = share_of(count, _SAMPLES, _measured(draw, 500.0, blocks))
        return holds(found.low, found.high, part * 500)

    return trial


def elsewhere(blocks: int) -> Trial:
    """The part of an effect outside its expected part, from the costs of two cells."""

    def why(draw: Draw, group: str, exchange: float, others: float) -> CellWhy:
        cost = _measured(draw, exchange + others, blocks)
        count = int(draw.binomial(_SAMPLES, exchange / (exchange + others)))
        counts = {"key exchange": count, "records": _SAMPLES - count}
        parts = tuple(
            CostPart(name, number, share_of(number, _SAMPLES, cost))
            for name, number in counts.items()
        )
        return CellWhy(group, {"group": group}, cost, _SAMPLES, parts)

    def trial(draw: Draw) -> bool | None:
        cells = [why(draw, "X25519", 50, 350), why(draw, "P-384", 350, 360)]
        (found,) = effect_checks(cells, {"group": "X25519"}, None)
        return holds(found.elsewhere.low, found.elsewhere.high, 10.0)

    return trial


def _components(draw: Draw, blocks: int) -> Components | None:
    logs, starts = {}, {}
    for deployment in range(_DEPLOYMENTS):
        start = draw.normal(0, _START, blocks)
        for number in range(_CELLS):
            name = f"{deployment}/{number}"
            logs[name] = (start + draw.normal(0, _TRIAL, blocks)).tolist()
            starts[name] = deployment
    return components(logs, starts)


def trial_variance(blocks: int) -> Trial:
    """The variance from trial to trial, which forecasts a run."""

    def trial(draw: Draw) -> bool | None:
        found = _components(draw, blocks)
        return None if found is None else holds(found.trial.low, found.trial.high, _TRIAL**2)

    return trial


def start_variance(blocks: int) -> Trial:
    """The variance from start to start of the server."""

    def trial(draw: Draw) -> bool | None:
        found = _components(draw, blocks)
        start = None if found is None else found.start
        return None if start is None else holds(start.low, start.high, _START**2)

    return trial
