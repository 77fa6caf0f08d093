"""Growth with processors, by the server's processor time for a connection.

A maximum on more processors is a lower bound where the generator needs one of them. The cost of a
connection is none: if it is the same with more processors, their number multiplies the rate, as far
as processor time limits it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tlslab.analysis.capacity.bend import FEWEST_RUNS
from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.points import by_fraction
from tlslab.analysis.capacity.ratios import scaling_pairs
from tlslab.analysis.capacity.remedies import paired_ratio
from tlslab.analysis.compare import paired_logs
from tlslab.analysis.measures import server_cost_us
from tlslab.domain.estimate import Estimate

# Growth is linear if a connection costs this share more or less at most.
LINEAR = 0.05


@dataclass(frozen=True)
class Growth:
    """The cost of a connection in `more` over that in `fewer`, at the same shares of each maximum.

    `loads`: these shares.
    """

    fewer: CapacityCell
    more: CapacityCell
    loads: tuple[float, ...]
    ratio: Estimate

    @property
    def is_linear(self) -> bool | None:
        """Whether growth is linear within LINEAR; None if the interval does not decide."""
        low, high = self.ratio.low, self.ratio.high
        if low is None or high is None:
            return None
        if low > 1 / (1 + LINEAR) and high < 1 + LINEAR:
            return True
        return False if low > 1 + LINEAR or high < 1 / (1 + LINEAR) else None


def growths(cells: Sequence[CapacityCell]) -> Iterator[Growth]:
    """Each pair of cells that differ in the number of processors, with enough repetitions."""
    for fewer, more in scaling_pairs(cells):
        costs = [_costs(cell) for cell in (fewer, more)]
        loads = tuple(sorted(costs[0].keys() & costs[1].keys()))
        if not loads:
            continue
        below, above = (_by_repetition([each[load] for load in loads]) for each in costs)
        ratio = paired_ratio(paired_logs(above, below))
        if ratio is not None and ratio.n >= FEWEST_RUNS:
            yield Growth(fewer, more, loads, ratio)


def _costs(cell: CapacityCell) -> dict[float, dict[int, float]]:
    """Microseconds of a connection by load and repetition, at loads that the server kept up with.

    A rate near the maximum costs less than one that leaves the processors idle in between, so that
    only costs at equal shares are compared.
    """
    kept = {f for f, points in by_fraction(cell.points).items() if all(p.kept for p in points)}
    found: dict[float, dict[int, float]] = {}
    for trial in cell.of("open_loop"):
        cost, load = server_cost_us(trial.runs["load"]), float(trial.factors["fraction"])
        if cost is not None and load in kept:
            found.setdefault(load, {})[int(trial.factors["repetition"])] = cost
    return found


def _by_repetition(loads: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The geometric mean over loads of each repetition that has all of them."""
    whole = set.intersection(*(set(each) for each in loads))
    return {n: float(np.exp(np.mean([np.log(each[n]) for each in loads]))) for n in sorted(whole)}
