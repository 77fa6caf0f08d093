"""Trade-offs between cells: security, the server's cost, latency, bytes, memory. Pure.

All values are paired by block. The caller ranks the security of cells; `stats.posterior` has the
method behind the probabilities.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tlslab.analysis.compare import Measured, compare, judged_together
from tlslab.analysis.judged import JudgedCell, judged_cells
from tlslab.analysis.open_cells import replay
from tlslab.analysis.ranking import rank
from tlslab.analysis.stats.estimate import CONFIDENCE, Array, estimate
from tlslab.analysis.stats.families import holm
from tlslab.analysis.stats.latency import times
from tlslab.analysis.stats.posterior import (
    LEAST_BLOCKS,
    credible,
    draws_of_means,
    probability_of_least,
    probability_on_front,
)
from tlslab.domain.distribution import Distribution, needed_n
from tlslab.domain.enough import EQUIVALENCE
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CONNECTION_TIMES,
    OPEN_SERVER_COST,
    SERVER_COST,
    SERVER_MEMORY,
    SERVICE,
    WIRE_BYTES,
    quantile,
    quantity,
)
from tlslab.domain.finding import Comparison
from tlslab.domain.run import RunContents
from tlslab.domain.trade_off import TOLERANCE, TradeOffs, Verdict, Weighed

# The quantiles of the service time, the highest first; the first that all trials can have is used.
_QUANTILES = {quantile(SERVICE, percentage): percentage / 100 for percentage in (99, 95, 50)}
LATENCIES = tuple(_QUANTILES)

# The dimensions of cells beside their security; less is better in all of them.
DIMENSIONS = (
    SERVER_COST,
    OPEN_SERVER_COST,
    *LATENCIES,
    WIRE_BYTES,
    SERVER_MEMORY,
)


def measured_cells(contents: RunContents) -> tuple[Measured, ...]:
    """The cells of a run of the kind `matrix`, with a quantile of the service time by block."""
    stopping = contents.experiment.stopping
    replayed = None if stopping is None else replay(contents, stopping)
    found = []
    for judged in judged_cells(contents):
        planned = contents.plan.blocks if replayed is None else replayed.wanted[judged.cell.key]
        cell = judged.measured(planned, anytime=replayed is not None)
        found.append(replace(cell, values={**cell.values, **_latencies(judged)}))
    return tuple(found)


def _latencies(judged: JudgedCell) -> dict[str, dict[int, float]]:
    """Quantiles of the service time, by block; only those for which every trial has enough values.

    The times of a trial are those of its capacity run, with the server under full load.
    """
    by_block = {
        trial.block: Distribution.merge(parts)
        for trial in judged.usable
        if (parts := times([trial], CONNECTION_TIMES[SERVICE]))
    }
    least = min((each.n for each in by_block.values()), default=0)
    return {
        name: {block: each.quantile(p) for block, each in by_block.items()}
        for name, p in _QUANTILES.items()
        if least >= needed_n(p)
    }


@dataclass(frozen=True)
class _Field:
    """Cells with the blocks that all of them have, and the draws of their means by dimension."""

    cells: Sequence[Measured]
    blocks: tuple[int, ...]
    draws: Mapping[str, Array]
    security: Mapping[str, int]

    def names(self) -> list[str]:
        """The cells' keys, in their order."""
        return [cell.summary.key for cell in self.cells]


def weigh(
    cells: Sequence[Measured], security: Mapping[str, int], measures: Sequence[str]
) -> TradeOffs:
    """The cells with a security rank, weighed by the first of the measures that all of them have.

    `security`: the ranks by the cells' keys, 0 for the safest, in the order that breaks ties.
    `measures` are tried in their order. Without any, the security alone decides, then nothing does.
    """
    wanted = [cell for key in security for cell in cells if cell.summary.key == key]
    usable = [cell for cell in wanted if cell.summary.verdict in ("valid", "at_least")]
    unmeasured = tuple(cell.summary.key for cell in wanted if cell not in usable)
    measure = next((m for m in measures if usable and all(c.may_rank(m) for c in usable)), "")
    dimensions = _dimensions(usable)
    names = tuple(dict.fromkeys((*([measure] if measure else []), *dimensions)))
    field = _field(usable, names, security)
    whole = _weighed(field, names, dimensions)
    found = TradeOffs(
        measure=measure,
        blocks=len(field.blocks),
        verdict="not_measured",
        dimensions=dimensions,
        cells=whole,
        contenders=(),
        order=tuple(security),
        unmeasured=unmeasured,
    )
    if not measure:
        return found
    if len(field.blocks) < LEAST_BLOCKS:
        return replace(found, verdict="too_few")
    return _ordered(found, field)


def _dimensions(cells: Sequence[Measured]) -> tuple[str, ...]:
    """The dimensions that all cells have; of the quantiles only the highest."""
    there = [name for name in DIMENSIONS if cells and all(c.values.get(name) for c in cells)]
    latency = next((name for name in LATENCIES if name in there), None)
    return tuple(name for name in there if name not in LATENCIES or name == latency)


def _field(cells: Sequence[Measured], names: Sequence[str], security: Mapping[str, int]) -> _Field:
    shared = [
        {block for block, value in cell.values[name].items() if value > 0}
        for cell in cells
        for name in names
    ]
    blocks = tuple(sorted(set.intersection(*shared))) if shared else ()
    draws = {}
    if len(blocks) >= LEAST_BLOCKS:
        for name in names:
            logs = [[math.log(cell.values[name][block]) for block in blocks] for cell in cells]
            sign = -1.0 if quantity(name).more_is_better else 1.0
            draws[name] = sign * draws_of_means(np.array(logs))
    return _Field(cells, blocks, draws, security)


def _weighed(field: _Field, names: Sequence[str], dimensions: Sequence[str]) -> tuple[Weighed, ...]:
    ranks = np.array([float(field.security[key]) for key in field.names()])
    best = {name: probability_of_least(draws) for name, draws in field.draws.items()}
    front: Array | None = None
    if field.draws:
        safe = np.broadcast_to(ranks, next(iter(field.draws.values())).shape)
        front = probability_on_front([safe, *(field.draws[n] for n in dimensions)], TOLERANCE)
    return tuple(
        Weighed(
            cell=cell.summary.key,
            security=field.security[cell.summary.key],
            values={name: _estimate(cell, name) for name in names},
            best={name: float(probability[number]) for name, probability in best.items()},
            on_front=None if front is None else float(front[number]),
        )
        for number, cell in enumerate(field.cells)
    )


def _estimate(cell: Measured, name: str) -> Estimate:
    return estimate(list(cell.values[name].values()), quantity(name).unit, cell.anytime)


def _ordered(found: TradeOffs, field: _Field) -> TradeOffs:
    """The trade-offs with the verdict and the order.

    The order: the safest of the cells that may be the best, then the same among the rest.
    """
    draws, keys = field.draws[found.measure], field.names()
    first = credible(probability_of_least(draws), CONFIDENCE)
    contenders = [field.cells[number] for number in first]
    open_ = _may_differ(contenders, found.measure)
    verdict = _verdict(len(contenders), len(keys), open_)
    found = replace(
        found,
        verdict=verdict,
        contenders=tuple(keys[number] for number in first),
        may_differ=open_,
    )
    if verdict == "cannot_tell":
        return found
    order, rest = [], list(range(len(keys)))
    while rest:
        probabilities = probability_of_least(draws[:, rest])
        among = [rest[number] for number in credible(probabilities, CONFIDENCE)]
        # `among` has the likeliest first; of equally safe cells the first is taken.
        chosen = min(among, key=lambda number: field.security[keys[number]])
        order.append(keys[chosen])
        rest.remove(chosen)
    beaten = _beaten(field.cells, found.measure, order[0])
    return replace(found, order=(*order, *found.unmeasured), beaten=beaten)


def _beaten(cells: Sequence[Measured], measure: str, first: str) -> tuple[str, ...]:
    """The cells that are detectably worse than `first`; every pair is tested (Holm)."""
    ranked = rank(cells, measure)
    keys = [each.cell.summary.key for each in ranked]
    return tuple(keys[number] for number in ranked[keys.index(first)].beats)


def _verdict(contenders: int, all_: int, may_differ: float | None) -> Verdict:
    if contenders == 1:
        return "settled"
    if may_differ is not None and may_differ <= EQUIVALENCE:
        return "equal"
    return "open" if contenders < all_ else "cannot_tell"


def _may_differ(cells: Sequence[Measured], measure: str) -> float | None:
    """The largest difference that is open between two of the cells; None without an interval."""
    found = [compare(a, b, measure) for a, b in combinations(cells, 2)]
    open_ = [None if each is None else each.may_differ for each in found]
    known = [each for each in open_ if each is not None]
    return max(known, default=None) if len(known) == len(open_) else None


def ratios(
    cells: Sequence[Measured], wanted: Sequence[tuple[str, str, str]]
) -> tuple[Comparison, ...]:
    """One cell over another by a measure (`one, other, measure`), paired by block, for each.

    Their verdicts are those of one family (Holm): the chance of a single false difference among all
    is at most 5 %. For a lower bound, only what it establishes counts as a difference. Pairs that
    share no block have no comparison.
    """
    by_key = {cell.summary.key: cell for cell in cells}
    found = [compare(by_key[one], by_key[other], by, bounds=True) for one, other, by in wanted]
    return judged_together([each for each in found if each is not None], adjust=holm)
