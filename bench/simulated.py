"""Simulated runs of equal cells and of planted slowdowns, through the lab's own analysis.

A trial's value is the product of the true value and the effects of block, process start, window and
requests; each effect is drawn from a lognormal distribution. The server's cost follows the rate,
because the server is the limit; the client's cost has noise of its own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tlslab.analysis.compare import Measured, comparisons
from tlslab.analysis.open_cells import open_pairs
from tlslab.analysis.ranking import differing
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import CellSummary
from tlslab.domain.stopping import Stopping

FACTOR = "copy"
BASELINE = {FACTOR: "a"}
NAMES = "abcdef"

RATE = "connections_per_s"
SERVER = "server_cpu_us_per_connection"
CLIENT = "client_cpu_us_per_connection"
PARTS = ("user", "system")

# Shares of a trial's variance: fresh processes differ most, then windows, then requests.
START, WINDOW, REQUESTS = 0.6, 0.3, 0.1

# Blocks differ much more than the trials in a block; pairing removes that.
BLOCK_NOISE = 0.05


@dataclass(frozen=True)
class Plan:
    """The plan of a run: the blocks of a fixed plan, or the limit of one that ends when settled."""

    name: str
    blocks: int
    stopping: Stopping | None = None


FIXED = Plan("fixed, 5 blocks", 5), Plan("fixed, 10 blocks", 10)
SEQUENTIAL = Plan("until 2 %, 15 blocks at most", 15, Stopping(until=0.02, answer="ranking"))
PLANS = (*FIXED, SEQUENTIAL)


@dataclass(frozen=True)
class Found:
    """The result of the analysis of a run.

    Whether its ranking by the rate sets cells apart, whether its table of ratios does, whether the
    ranking has the last cell behind all others, and the largest number of blocks of a cell.
    """

    ranking: bool
    table: bool
    slower: bool
    blocks: int


def simulate(plan: Plan, cells: int, noise: float, seed: int, slower: float = 0.0) -> Found:
    """One run of equal cells; the last is slower by a share, if one is given.

    `noise` is the standard deviation of the logarithm of one trial's value within its block.
    """
    run = measured(plan, cells, noise, np.random.default_rng(seed), slower)
    table = comparisons(run, BASELINE)
    pairs = differing(run, RATE)
    last = len(run) - 1
    behind = [found for (_, second), found in pairs.items() if second == last]
    return Found(
        ranking=any(found is not None for found in pairs.values()),
        table=any(each.differs for each in table),
        slower=all(found is not None and found.ratio > 1 for found in behind),
        blocks=max(len(cell.values[RATE]) for cell in run),
    )


def measured(
    plan: Plan, cells: int, noise: float, rng: np.random.Generator, slower: float = 0.0
) -> list[Measured]:
    """The cells of such a run, with the blocks of its plan."""
    drawn = _draw(plan.blocks, cells, noise, slower, rng)
    whole = [_cell(name, values, plan) for name, values in zip(NAMES, drawn, strict=False)]
    return stopped(whole, plan)


def stopped(cells: Sequence[Measured], plan: Plan) -> list[Measured]:
    """The cells, whose factor is FACTOR, with the blocks of the plan."""
    if plan.stopping is None:
        return list(cells)
    stopping = plan.stopping
    have = {cell.summary.key: stopping.at_least for cell in cells}
    going = frozenset(have)
    for block in range(stopping.at_least, plan.blocks):
        seen = [_first(cell, have[cell.summary.key]) for cell in cells]
        going &= open_pairs(seen, BASELINE, stopping).cells
        have |= dict.fromkeys(going, block + 1)
    return [_first(cell, have[cell.summary.key]) for cell in cells]


def _first(cell: Measured, blocks: int) -> Measured:
    values = {
        name: {block: value for block, value in each.items() if block < blocks}
        for name, each in cell.values.items()
    }
    return replace(cell, values=values)


def _cell(name: str, values: Mapping[str, Mapping[int, float]], plan: Plan) -> Measured:
    estimates = dict.fromkeys(values, Estimate(1.0, None, None, plan.blocks, "", ""))
    summary = CellSummary(name, {FACTOR: name}, "valid", (), plan.blocks, estimates)
    return Measured(summary, values, anytime=plan.stopping is not None)


def _draw(
    blocks: int, cells: int, noise: float, slower: float, rng: np.random.Generator
) -> list[dict[str, dict[int, float]]]:
    """The values of each cell, by estimate and block."""
    shared = rng.normal(0, BLOCK_NOISE, blocks)
    found = []
    for cell in range(cells):
        last = cell == cells - 1
        rate = -math.log1p(slower if last else 0.0) + shared + _trials(blocks, noise, rng)
        server = -rate + _trials(blocks, noise / 4, rng)
        client = shared + _trials(blocks, noise, rng)
        logs = {RATE: rate, SERVER: server, CLIENT: client}
        for whole in (SERVER, CLIENT):
            logs |= {f"{whole}_{p}": logs[whole] + _trials(blocks, noise, rng) for p in PARTS}
        found.append({name: dict(enumerate(np.exp(each).tolist())) for name, each in logs.items()})
    return found


def _trials(blocks: int, noise: float, rng: np.random.Generator) -> "np.typing.NDArray[np.float64]":
    """The effects of process starts, windows and requests on each trial of a cell."""
    parts = [rng.normal(0, noise * math.sqrt(share), blocks) for share in (START, WINDOW, REQUESTS)]
    return parts[0] + parts[1] + parts[2]
