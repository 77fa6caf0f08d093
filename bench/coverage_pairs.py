"""Simulations of comparisons: ratios, ranks, the best cell, a gate, a proof, a change of level."""

import math

import numpy as np

from bench.noise import Draw, Noise, Trial, cell, holds
from bench.simulated import FACTOR, NAMES, RATE, SEQUENTIAL, measured, stopped
from tlslab.analysis.compare import compare, paired_logs
from tlslab.analysis.effects.ratios import MeasureValues, effects
from tlslab.analysis.gate import gate
from tlslab.analysis.history.run_history import find, welch
from tlslab.analysis.overlay import independent
from tlslab.analysis.proof.deciding_ratios import figures
from tlslab.analysis.proof.sides import RATES, Sides
from tlslab.analysis.ranking import rank
from tlslab.analysis.stats import sequence
from tlslab.analysis.stats.change_points import segments
from tlslab.analysis.stats.estimate import CONFIDENCE, estimate, mean_interval, ratio_of
from tlslab.analysis.stats.machines import Block
from tlslab.analysis.stats.posterior import credible, draws_of_means, probability_of_least
from tlslab.analysis.trade_offs import weigh
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import SERVER_COST
from tlslab.domain.proof_settings import Measure
from tlslab.domain.two_stage import repetitions

# The standard deviations of blocks, and of trials within a block.
BLOCK, TRIAL = 0.05, 0.02

# Cells to be ranked: the distance of each from the one before, and their number.
_STEP, _CELLS = 0.01, 6

_MEASURES: tuple[Measure, ...] = ("connections", "new", "returning", "requests")


def paired(n: int) -> Trial:
    """The ratio of two cells, 1.1, paired by block."""

    def trial(draw: Draw) -> bool | None:
        block, one, other = draw.normal(0, (BLOCK, TRIAL, TRIAL), (n, 3)).T
        logs = (block + one + math.log(1.1)) - (block + other)
        low, high = mean_interval(logs, "log ratios")[1] or (None, None)
        return holds(low, high, math.log(1.1))

    return trial


def on_machines(sizes: tuple[int, ...], differ: float) -> Trial:
    """The ratio of two cells, 1.1 on average, that differs by machine: its mean over these ones.

    `sizes`: the number of blocks of each machine.
    """
    machines = np.repeat(range(len(sizes)), sizes)
    blocks = [Block(number, int(machine)) for number, machine in enumerate(machines)]

    def trial(draw: Draw) -> bool | None:
        own = math.log(1.1) + np.repeat(draw.normal(0, differ, len(sizes)), sizes)
        one, other = draw.normal(0, (TRIAL, TRIAL), (len(blocks), 2)).T
        first: dict[int, float] = dict(zip(blocks, np.exp(own + one), strict=True))
        second: dict[int, float] = dict(zip(blocks, np.exp(other), strict=True))
        logs = paired_logs(first, second)
        low, high = mean_interval(logs, "log ratios")[1] or (None, None)
        return holds(low, high, float(own.mean()))

    return trial


def effect(blocks: int) -> Trial:
    """The effect of a factor, 1.1, the levels of another one equal; trials of each block."""
    varied = {"tls": ("1.2", "1.3"), "key": ("rsa-2048", "ecdsa-p256")}

    def trial(draw: Draw) -> bool | None:
        by_block = draw.normal(0, BLOCK, blocks)
        values = {
            frozenset({("tls", tls), ("key", key)}): {
                number: math.exp(each + draw.normal(0, TRIAL) + (tls == "1.3") * math.log(1.1))
                for number, each in enumerate(by_block)
            }
            for tls in varied["tls"]
            for key in varied["key"]
        }
        found = effects(varied, [MeasureValues("new", SERVER_COST, values)])[0].ratio
        return holds(found.low, found.high, 1.1)

    return trial


def settled(noise: float, slower: float) -> Trial:
    """The ratio of two cells at the block at which the run ended by itself."""

    def trial(draw: Draw) -> bool | None:
        first, second = measured(SEQUENTIAL, 2, noise, draw, slower)
        found = compare(second, first, RATE)
        return None if found is None else holds(found.low, found.high, 1 / (1 + slower))

    return trial


def maxima(noise: float) -> Trial:
    """The ratio of two cells' maxima, 1.1, each repeated as its first five values require."""

    def trial(draw: Draw) -> bool | None:
        cells = []
        for name, rate in (("first", 1000.0), ("second", 1100.0)):
            values = rate * np.exp(draw.normal(0, noise, 5))
            more = repetitions(values.tolist(), 0.05, 8) - 5
            further = rate * np.exp(draw.normal(0, noise, more))
            cells.append(cell(name, {RATE: np.concatenate([values, further])}))
        found = compare(cells[1], cells[0], RATE)
        return None if found is None else holds(found.low, found.high, 1.1)

    return trial


def at_any_time(noise: Noise) -> Trial:
    """The confidence sequence, evaluated after each of the blocks 5 to 15."""

    def trial(draw: Draw) -> bool:
        data = noise(draw, 15)
        # It holds at n exactly if the evidence against 0 is below 20.
        return all(sequence.evidence(data[:n]) < 20 for n in range(5, 16))

    return trial


def _run(draw: Draw, value: float, noise: float, blocks: int, anytime: bool = False) -> Estimate:
    """The rate of a cell in a separate run."""
    return estimate((value * np.exp(draw.normal(0, noise, blocks))).tolist(), "1/s", anytime)


def independent_runs(blocks: int, other: float, anytime: bool = False) -> Trial:
    """The ratio of a cell in two runs, 1.1; `other` is the noise of the second run."""

    def trial(draw: Draw) -> bool | None:
        first = _run(draw, 1000.0, TRIAL, blocks, anytime)
        second = _run(draw, 1100.0, other, blocks, anytime)
        found = ratio_of(second, first, "ratio", "")
        return holds(found.low, found.high, 1.1)

    return trial


def gate_bound(blocks: int) -> Trial:
    """The one-sided bound by which a gate excludes a slowdown; the second run is 3 % slower."""

    def trial(draw: Draw) -> bool:
        first, second = (_run(draw, rate, TRIAL, blocks) for rate in (1000.0, 1000.0 / 1.03))
        (found,) = gate([independent(RATE, first, second)], 0.05).ratios
        return found.high >= 1.03

    return trial


def proof(blocks: int) -> Trial:
    """All ratios of a proof at once; the candidate is 1.05 times as good by each."""
    better = 1.05

    def trial(draw: Draw) -> bool | None:
        block = draw.normal(0, BLOCK, blocks)
        sides: dict[Measure, Sides] = {}
        for measure in _MEASURES:
            rate, cost = RATES[measure]
            each = [
                cell(
                    name,
                    {
                        rate: 1000 * times * np.exp(block + draw.normal(0, TRIAL, blocks)),
                        cost: 200 / times * np.exp(block + draw.normal(0, TRIAL, blocks)),
                    },
                    {"configuration": name},
                )
                for name, times in (("baseline", 1.0), ("candidate", better))
            ]
            sides[measure] = Sides(*each)
        found = figures(sides, 0.05)
        held = [holds(one.low, one.high, better) for one in found]
        return None if None in held else all(held)

    return trial


def ranks(blocks: int) -> Trial:
    """The ranges of ranks of six cells, each 1 % behind the one before."""

    def trial(draw: Draw) -> bool:
        block = draw.normal(0, BLOCK, blocks)
        cells = [
            cell(
                f"{place}",
                {RATE: 1000 * np.exp(block - _STEP * place + draw.normal(0, TRIAL, blocks))},
            )
            for place in range(1, _CELLS + 1)
        ]
        return all(
            each.best <= int(each.cell.summary.key) <= each.worst for each in rank(cells, RATE)
        )

    return trial


def best(blocks: int) -> Trial:
    """The cells that may be the best one, of four that cost 1 % more from one to the next."""

    def trial(draw: Draw) -> bool:
        logs = draw.normal(0, BLOCK, blocks) + draw.normal(0, TRIAL, (4, blocks))
        draws = draws_of_means(logs + _STEP * np.arange(4)[:, None])
        return 0 in credible(probability_of_least(draws), CONFIDENCE)

    return trial


def best_when_settled(noise: float) -> Trial:
    """The same by the rate, as a recommendation has it, for a run that ended by itself."""

    def trial(draw: Draw) -> bool:
        block = draw.normal(0, BLOCK, SEQUENTIAL.blocks)
        whole = []
        for place, name in enumerate(NAMES[:4]):
            logs = block - _STEP * place + draw.normal(0, noise, SEQUENTIAL.blocks)
            whole.append(cell(name, {RATE: np.exp(logs)}, {FACTOR: name}, anytime=True))
        cells = stopped(whole, SEQUENTIAL)
        return NAMES[0] in weigh(cells, dict.fromkeys(NAMES[:4], 0), (RATE,)).contenders

    return trial


def level_change(runs: int) -> Trial:
    """The step between N runs and N later ones, in standard deviations; its place is known."""

    def trial(draw: Draw) -> bool | None:
        low, high = welch(draw.normal(0, 1, runs), draw.normal(3, 1, runs)) or (None, None)
        return holds(low, high, 3.0)

    return trial


def level_change_found(runs: int) -> Trial:
    """The same with the place that a history finds; None if it does not find exactly one change."""

    def trial(draw: Draw) -> bool | None:
        logs = TRIAL * np.concatenate([draw.normal(0, 1, runs), draw.normal(3, 1, runs)])
        (found,) = find([np.exp(logs).tolist()])
        if len(found.points) != 1:
            return None
        before, after = segments(found.logs, [found.points[0].index])
        low, high = welch(before, after) or (None, None)
        return holds(low, high, 3 * TRIAL)

    return trial
