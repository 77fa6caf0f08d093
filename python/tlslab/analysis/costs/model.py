"""What each part of a connection costs the server, fitted block by block. Pure.

In each block every cell is measured once, so that each block gives a fit of its own: weighted least
squares, each cell's cost divided by its mean, since costs are known to a share of themselves.
Blocks are independent, and everything that is linear in the parts has one value from each: their
mean has an ordinary interval over blocks, whatever the correlation of the errors within a block.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tlslab.analysis.compare import Measured
from tlslab.analysis.costs.cost_parts import BASIC, parts_of
from tlslab.analysis.measures import MICROSECONDS, RATIO
from tlslab.analysis.stats.estimate import Array, estimate, mean_interval
from tlslab.model.estimate import Estimate

COST = "server_cpu_us_per_connection"


@dataclass(frozen=True)
class CostModel:
    """The costs of the parts in microseconds of processor time.

    `parts` are those that the cells can tell apart, `merged` those that they cannot: their cost is
    in the others. `costs` has a row for each of `blocks`, a column for each part. `centre` has the
    levels that the parts without a level of their own stand for.
    """

    centre: Mapping[str, str]
    parts: tuple[str, ...]
    merged: tuple[str, ...]
    blocks: tuple[int, ...]
    costs: Array

    def part(self, name: str) -> Estimate:
        """The cost of one unit of a part."""
        return _mean(self.costs[:, self.parts.index(name)])

    def unknown(self, factors: Mapping[str, str]) -> tuple[str, ...]:
        """The parts of a mix that no cell had."""
        known = (*self.parts, *self.merged)
        return tuple(name for name in parts_of(factors, self.centre) if name not in known)

    def by_block(self, factors: Mapping[str, str]) -> dict[int, float]:
        """What a connection of a mix costs by each block's fit; the mix has no unknown parts."""
        counts = parts_of(factors, self.centre)
        row = np.array([counts.get(name, 0.0) for name in self.parts])
        return dict(zip(self.blocks, (self.costs @ row).tolist(), strict=True))

    def cost(self, factors: Mapping[str, str]) -> Estimate:
        """What a connection of a mix costs, with the interval over blocks."""
        return _mean(np.array(list(self.by_block(factors).values())))

    def difference(self, left: Mapping[str, str], right: Mapping[str, str]) -> Estimate:
        """What a connection of a mix costs more than one of another; neither has unknown parts."""
        others = self.by_block(right)
        return _mean(
            np.array([cost - others[block] for block, cost in self.by_block(left).items()])
        )


@dataclass(frozen=True)
class Check:
    """A mix that the fit has not seen: `ratio` is the cost that it adds up to over the measured.

    A part is a difference of costs, so that by a noisy fit a mix may come out at or below nothing.
    """

    factors: Mapping[str, str]
    predicted: Estimate
    measured: Estimate
    ratio: Estimate

    @property
    def error(self) -> float:
        """The error as a share, either way; infinite where the modelled cost may be 0 or less."""
        if self.ratio.value <= 0 or (self.ratio.low is not None and self.ratio.low <= 0):
            return math.inf
        return max(self.ratio.value, 1 / self.ratio.value) - 1

    @property
    def bound(self) -> float:
        """The error that the ratio's interval does not exclude; `error` where there is none.

        By the end of the interval that is further off.
        """
        ends = [end for end in (self.ratio.low, self.ratio.high) if end is not None]
        if self.error == math.inf or not ends:
            return self.error
        return max(max(end, 1 / end) - 1 for end in ends)


def fit(cells: Sequence[Measured], centre: Mapping[str, str]) -> CostModel | None:
    """The model fitted to these cells; None where no block has every cell."""
    rows = [
        (parts_of(cell.summary.factors, centre), cell.values[COST])
        for cell in cells
        if cell.summary.verdict in ("valid", "at_least") and cell.values.get(COST)
    ]
    if not rows:
        return None
    found = dict.fromkeys(name for counts, _ in rows for name in counts)
    named = [*(name for name in BASIC if name in found), *(n for n in found if n not in BASIC)]
    design = np.array([[counts.get(name, 0.0) for name in named] for counts, _ in rows])
    kept = _separable(design)
    parts = [name for number, name in enumerate(named) if number in kept]
    merged = [name for name in named if name not in parts]
    design = design[:, kept]
    means = np.array([np.mean(list(values.values())) for _, values in rows])
    blocks, costs = [], []
    for block in sorted({block for _, values in rows for block in values}):
        here = [number for number, (_, values) in enumerate(rows) if block in values]
        scaled = design[here] / means[here, None]
        if np.linalg.matrix_rank(scaled) < len(parts):
            continue
        measured = np.array([rows[number][1][block] for number in here]) / means[here]
        blocks.append(block)
        costs.append(np.linalg.lstsq(scaled, measured, rcond=None)[0])
    if not blocks:
        return None
    return CostModel(centre, tuple(parts), tuple(merged), tuple(blocks), np.array(costs))


def _mean(values: Array) -> Estimate:
    """The mean over blocks, not of logarithms: parts are differences, and may be less than 0."""
    centre, interval, method = mean_interval(values, "values")
    low, high = (None, None) if interval is None else interval
    return Estimate(centre, low, high, len(values), MICROSECONDS, method)


def _separable(design: Array) -> list[int]:
    """The columns that are not linear combinations of earlier columns."""
    kept: list[int] = []
    for column in range(design.shape[1]):
        if np.linalg.matrix_rank(design[:, [*kept, column]]) > len(kept):
            kept.append(column)
    return kept


def checks(model: CostModel, cells: Sequence[Measured]) -> tuple[Check, ...]:
    """Each mix that was held out: what the model makes of it, and what it was."""
    found = []
    for cell in cells:
        factors, values = cell.summary.factors, cell.values.get(COST, {})
        if cell.summary.verdict not in ("valid", "at_least") or model.unknown(factors):
            continue
        predicted = model.by_block(factors)
        shared = [block for block in predicted if block in values]
        if not shared:
            continue
        found.append(
            Check(
                factors,
                estimate([predicted[block] for block in shared], MICROSECONDS),
                estimate([values[block] for block in shared], MICROSECONDS),
                estimate([predicted[block] / values[block] for block in shared], RATIO),
            )
        )
    return tuple(found)
