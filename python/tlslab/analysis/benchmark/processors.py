"""The cost of an operation on each side: the number of signing processors per general one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tlslab.analysis.benchmark.curves import Curve, find_curve, throughput_by_block
from tlslab.analysis.stats.estimate import estimate
from tlslab.analysis.stats.scaling import Block, each_left_out, fitted_peak, jackknifed, ratio
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPERATION_COST, OPERATION_MEAN, SIGNERS_COST, quantity


@dataclass(frozen=True)
class Costs:
    """One benchmark through the cluster on one runtime.

    `general` and `signing`: processor microseconds per operation of the benchmark's own process and
    of the signing processes. `ratio`: signing over general; N signing processors keep one general
    one busy. `ceiling_share`: the fitted peak over the rate at which these costs would fill all
    processors. Near 1 the processors were the limit, and the ratio of costs is the ratio of
    processors.
    """

    curve: Curve
    general: Estimate
    signing: Estimate
    ratio: Estimate
    ceiling_share: Estimate | None

    @property
    def cells(self) -> tuple[str, ...]:
        """The keys of the cells with both costs."""
        summaries = (cell.summary for cell in self.curve.cells.values())
        return tuple(s.key for s in summaries if {OPERATION_COST, SIGNERS_COST} <= set(s.estimates))


def costs(curves: Sequence[Curve], processors: int) -> tuple[Costs, ...]:
    """The costs of all curves through the cluster; values of a block are means over its threads."""
    found = []
    for curve in curves:
        general, signing = (_per_block(curve, name) for name in (OPERATION_COST, SIGNERS_COST))
        both = ratio(signing, general)
        if both is None:
            continue
        whole = {block: general[block] + signing[block] for block in signing}
        found.append(
            Costs(
                curve,
                estimate(list(general.values()), "us"),
                estimate(list(signing.values()), "us"),
                both,
                _share(curve, whole, processors),
            )
        )
    return tuple(found)


def _per_block(curve: Curve, name: str) -> dict[int, float]:
    """One value per block: the geometric mean over the threads that all blocks have."""
    gathered: dict[int, list[float]] = {}
    for cell in curve.cells.values():
        for block, value in cell.values.get(name, {}).items():
            if value > 0:
                gathered.setdefault(block, []).append(value)
    most = max(map(len, gathered.values()), default=0)
    return {
        block: float(np.exp(np.mean(np.log(values))))
        for block, values in gathered.items()
        if len(values) == most
    }


def _share(curve: Curve, whole: Mapping[int, float], processors: int) -> Estimate | None:
    """The fitted peak over the processors' limit; `whole` is the cost of both sides in each block.

    Peak and costs come from the same blocks, and a slow block has a low rate because it has high
    costs. The interval is therefore the jackknife's over blocks: fit and mean are recomputed
    without each.
    """
    rates = throughput_by_block(curve.cells)
    both = [(rates[block], cost) for block, cost in whole.items() if block in rates]
    value = _share_of(both, processors)
    if curve.law is None or value is None:
        return None
    without = [_share_of(rest, processors) for rest in each_left_out(both)]
    known = [each for each in without if each is not None]
    if len(known) < len(without):
        return Estimate(value, None, None, len(both), "", "a block alone has some of the levels")
    return jackknifed(value, known, "", "fitted peak times costs")


def _share_of(both: Sequence[tuple[Block, float]], processors: int) -> float | None:
    """The share from the rates and costs of these blocks; None if no law can be fitted."""
    peak = fitted_peak([rates for rates, _ in both])
    cost = float(np.exp(np.mean(np.log([cost for _, cost in both])))) if both else 0.0
    return None if peak is None else peak * cost / (processors * 1e6)


def without_drawing(curves: Sequence[Curve], curve: Curve, name: str) -> Estimate | None:
    """The cost of signing minus that of drawing, at the fewest threads, paired by block."""
    drawing = find_curve(curves, curve.runtime, "draw", "memory")
    if curve.benchmark != "sign" or drawing is None:
        return None
    drawn = drawing.first.values.get(name, {})
    signed = curve.first.values.get(name, {})
    left = [value - drawn[block] for block, value in signed.items() if block in drawn]
    return estimate(left, quantity(name).unit) if left else None


@dataclass(frozen=True)
class Composition:
    """The mean time of an operation, split, in microseconds.

    `general` and `signing` are processor time. `waiting` is the rest: waiting for processors, locks
    and messages. Several threads share one processor only in turns.
    """

    curve: Curve
    threads: int
    general_us: float
    signing_us: float
    waiting_us: float


def compositions(curves: Sequence[Curve], threads: int) -> tuple[Composition, ...]:
    """The composition of each curve's mean time at N threads."""
    found = []
    for curve in curves:
        cell = curve.cells.get(threads)
        if cell is None or OPERATION_MEAN not in cell.summary.estimates:
            continue
        value = {name: each.value for name, each in cell.summary.estimates.items()}
        general, signing = value.get(OPERATION_COST, 0.0), value.get(SIGNERS_COST, 0.0)
        rest = max(0.0, 1000 * value[OPERATION_MEAN] - general - signing)
        found.append(Composition(curve, threads, general, signing, rest))
    return tuple(found)
