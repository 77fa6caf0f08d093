"""The server's cost of each part of a connection, fitted block by block. Pure.

Each cell is measured once per block, so that each block has a fit of its own: weighted least
squares, with each cell's cost divided by its mean, because errors of costs are relative. Blocks are
independent, and each block gives one value of every linear function of the parts. The mean of these
values has an ordinary interval over blocks, whatever the correlation of errors within a block.
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

    `parts`: those that the cells can separate; `merged`: those that they cannot, whose cost is
    included in the others. `costs` has a row for each of `blocks`, a column for each part.
    `centre`: the levels whose cost is contained in the basic parts.
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
        """The parts of a mix that occurred in no cell."""
        known = (*self.parts, *self.merged)
        return tuple(name for name in parts_of(factors, self.centre) if name not in known)

    def by_block(self, factors: Mapping[str, str]) -> dict[int, float]:
        """The cost of a mix's connection by each block's fit.

        The mix must have no unknown parts.
        """
        counts = parts_of(factors, self.centre)
        row = np.array([counts.get(name, 0.0) for name in self.parts])
        return dict(zip(self.blocks, (self.costs @ row).tolist(), strict=True))

    def cost(self, factors: Mapping[str, str]) -> Estimate:
        """The cost of a mix's connection, with the interval over blocks."""
        return _mean(np.array(list(self.by_block(factors).values())))

    def difference(self, left: Mapping[str, str], right: Mapping[str, str]) -> Estimate:
        """The extra cost of one mix's connection over another's; neither may have unknown parts."""
        others = self.by_block(right)
        return _mean(
            np.array([cost - others[block] for block, cost in self.by_block(left).items()])
        )


@dataclass(frozen=True)
class Check:
    """A mix that was held out of the fit; `ratio` is the modelled cost over the measured one.

    A part is a difference of costs. By a noisy fit the modelled cost of a mix may be zero or
    negative.
    """

    factors: Mapping[str, str]
    predicted: Estimate
    measured: Estimate
    ratio: Estimate

    @property
    def error(self) -> float:
        """The relative error, either way; infinite if the modelled cost may be 0 or less."""
        if self.ratio.value <= 0 or (self.ratio.low is not None and self.ratio.low <= 0):
            return math.inf
        return max(self.ratio.value, 1 / self.ratio.value) - 1

    @property
    def bound(self) -> float:
        """The largest error that the ratio's interval does not exclude; `error` without an
        interval.

        The end of the interval with the larger error decides.
        """
        ends = [end for end in (self.ratio.low, self.ratio.high) if end is not None]
        if self.error == math.inf or not ends:
            return self.error
        return max(max(end, 1 / end) - 1 for end in ends)


def fit(cells: Sequence[Measured], centre: Mapping[str, str]) -> CostModel | None:
    """The model fitted to these cells; None if no block has enough valid cells for its parts."""
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
    """The arithmetic mean over blocks: parts are differences and may be negative."""
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
    """Each held-out mix: the modelled cost and the measured one."""
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
