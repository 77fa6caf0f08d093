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
from tlslab.analysis.costs.cost_parts import BASIC, KILO, KILOBYTE, bytes_part, parts_of
from tlslab.analysis.limit import cipher_of
from tlslab.analysis.primitive_costs import cost_us
from tlslab.analysis.stats.estimate import Array, estimate, mean_interval
from tlslab.contract.primitives import Primitives
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import MICROSECONDS, RATIO, SERVER_COST
from tlslab.domain.experiment import Experiment

# Bytes that cost this many times their encryption are implausible.
_MOST_TIMES = 30.0

# The bytes of a record (RFC 8446, section 5.1) in which encryption is measured.
_RECORD = 16_384

# The parts of a cell, and its cost by block.
_Row = tuple[Mapping[str, float], Mapping[int, float]]

# Residuals below this share of a row are rounding errors.
_ROUNDED = 1e-7


@dataclass(frozen=True)
class CostModel:
    """The costs of the parts in microseconds of processor time.

    `parts`: those that the cells identify; `merged`: those that they do not. `costs` has a row for
    each of `blocks`, a column for each part, the merged ones last (their columns have a meaning
    only in sums that the cells identify). `space`, `scale`: an orthonormal basis of the cells' rows
    (rank x parts), each column divided by its largest count.
    """

    experiment: Experiment
    parts: tuple[str, ...]
    merged: tuple[str, ...]
    blocks: tuple[int, ...]
    costs: Array
    space: Array
    scale: Array

    @property
    def centre(self) -> dict[str, str]:
        """The levels whose cost is contained in the basic parts."""
        return self.experiment.as_planned(self.experiment.centre)

    def counts(self, factors: Mapping[str, str]) -> dict[str, float]:
        """The number of each part in one connection of a mix."""
        return parts_of(factors, self.experiment)

    def part(self, name: str) -> Estimate:
        """The cost of one unit of an identified part."""
        return _mean(self.costs[:, self.parts.index(name)])

    def unknown(self, factors: Mapping[str, str]) -> tuple[str, ...]:
        """The parts of a mix that the cells do not identify: in no cell, or not told apart.

        A mix is identified if it is a sum of cells (its row is in the space of the design).
        """
        return self.unknown_of(self.counts(factors))

    def unknown_of(self, counts: Mapping[str, float]) -> tuple[str, ...]:
        """The same for these numbers of each part."""
        names = (*self.parts, *self.merged)
        row = self._row(counts) / self.scale
        rest = np.abs(row - self.space.T @ (self.space @ row))
        limit = _ROUNDED * np.linalg.norm(row)
        left = {name for name, share in zip(names, rest, strict=True) if share > limit}
        return tuple(name for name in counts if name not in names or name in left)

    def by_block(self, factors: Mapping[str, str]) -> dict[int, float]:
        """The cost of a mix's connection by each block's fit.

        The mix must have no unknown parts.
        """
        return self._sum(self.counts(factors))

    def cost(self, factors: Mapping[str, str]) -> Estimate:
        """The cost of a mix's connection, with the interval over blocks."""
        return self.sum_of(self.counts(factors))

    def sum_of(self, counts: Mapping[str, float]) -> Estimate:
        """The cost of these numbers of each part, which the cells must identify together."""
        return _mean(np.array(list(self._sum(counts).values())))

    def difference(self, left: Mapping[str, str], right: Mapping[str, str]) -> Estimate:
        """The extra cost of one mix's connection over another's; neither may have unknown parts."""
        others = self.by_block(right)
        return _mean(
            np.array([cost - others[block] for block, cost in self.by_block(left).items()])
        )

    def _sum(self, counts: Mapping[str, float]) -> dict[int, float]:
        return dict(zip(self.blocks, (self.costs @ self._row(counts)).tolist(), strict=True))

    def _row(self, counts: Mapping[str, float]) -> Array:
        return np.array([counts.get(name, 0.0) for name in (*self.parts, *self.merged)])


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


def fit(cells: Sequence[Measured], experiment: Experiment) -> CostModel | None:
    """The model fitted to these cells; None if no block has enough valid cells for its parts.

    Each block has the solution of least norm (pseudoinverse). Sums of parts that the cells identify
    are the same in every solution, whatever the centre.
    """
    rows = [
        (parts_of(cell.summary.factors, experiment), cell.values[SERVER_COST])
        for cell in cells
        if cell.summary.verdict in ("valid", "at_least") and cell.values.get(SERVER_COST)
    ]
    if not rows:
        return None
    found = dict.fromkeys(name for counts, _ in rows for name in counts)
    named = [*(name for name in BASIC if name in found), *(n for n in found if n not in BASIC)]
    parts = [name for name, known in zip(named, _identified(rows, named), strict=True) if known]
    merged = [name for name in named if name not in parts]
    design, scale = _scaled(rows, [*parts, *merged])
    space = _row_space(design)
    means = np.array([np.mean(list(values.values())) for _, values in rows])
    blocks, costs = [], []
    for block in sorted({block for _, values in rows for block in values}):
        here = [number for number, (_, values) in enumerate(rows) if block in values]
        reduced = design[here] @ space.T / means[here, None]
        if np.linalg.matrix_rank(reduced) < len(space):
            continue
        measured = np.array([rows[number][1][block] for number in here]) / means[here]
        blocks.append(block)
        costs.append(space.T @ np.linalg.lstsq(reduced, measured, rcond=None)[0] / scale)
    if not blocks:
        return None
    return CostModel(
        experiment, tuple(parts), tuple(merged), tuple(blocks), np.array(costs), space, scale
    )


def _scaled(rows: Sequence[_Row], names: Sequence[str]) -> tuple[Array, Array]:
    """The design, a column for each part, divided by the column's largest count; these counts."""
    design = np.array([[counts.get(name, 0.0) for name in names] for counts, _ in rows])
    scale = design.max(axis=0)
    return design / scale, scale


def _row_space(design: Array) -> Array:
    """An orthonormal basis of the rows of a matrix: rank x columns."""
    _, sizes, basis = np.linalg.svd(design, full_matrices=False)
    return np.asarray(basis[sizes > _ROUNDED * sizes[0]])


def _identified(rows: Sequence[_Row], names: Sequence[str]) -> list[bool]:
    """Whether each part by itself is a sum of cells: a unit vector in the space of their rows."""
    space = _row_space(_scaled(rows, names)[0])
    return [bool(rest < _ROUNDED) for rest in 1 - (space**2).sum(axis=0)]


def _mean(values: Array) -> Estimate:
    """The arithmetic mean over blocks: parts are differences and may be negative."""
    centre, interval, method = mean_interval(values, "values")
    low, high = (None, None) if interval is None else interval
    return Estimate(centre, low, high, len(values), MICROSECONDS, method)


def checks(model: CostModel, cells: Sequence[Measured]) -> tuple[Check, ...]:
    """Each held-out mix: the modelled cost and the measured one."""
    found = []
    for cell in cells:
        factors, values = cell.summary.factors, cell.values.get(SERVER_COST, {})
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


def implausible_bytes(
    model: CostModel, primitives: Primitives | None
) -> dict[str, dict[str, float]]:
    """The parts whose cost of bytes cannot be right: `cost_us`, `sealed_us` for 1,000 bytes.

    Beside its encryption a byte costs the server a copy or two: a few times as much. A fit that
    gives far more has put another part's cost, or noise, into the bytes. Empty without the
    primitives of the machine, which give the cost of encryption alone (`sealed_us`).
    """
    implausible: dict[str, dict[str, float]] = {}
    for factors in model.experiment.fitted() if primitives is not None else ():
        part, suites = bytes_part(factors, model.experiment), model.experiment.suites(factors)
        counts: Mapping[str, float] = {KILOBYTE: 1.0, part: 1.0}
        if part in implausible or len(suites) != 1 or model.unknown_of(counts):
            continue
        assert primitives is not None
        record = cost_us(primitives, cipher_of(suites[0]), "seal", _RECORD)
        cost = model.sum_of(counts).value
        if record and cost > _MOST_TIMES * (sealed := record * KILO / _RECORD):
            implausible[part] = {"cost_us": cost, "sealed_us": sealed}
    return implausible
