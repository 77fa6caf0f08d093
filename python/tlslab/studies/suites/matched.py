"""Suites taken together: the ratio of two groups of cells that are matched, and paired by block.

Single suites differ too little to be ranked; means over many of them can be told apart.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tlslab.analysis.compare import (
    Measured,
    compare,
    judged_together,
    may_differ,
    paired_logs,
)
from tlslab.analysis.stats.estimate import Array, family_interval
from tlslab.analysis.stats.families import LEVEL, false_discovery
from tlslab.domain.finding import Comparison

# Cells that are compared with others, from which they differ in one thing only.
Match = tuple[Sequence[Measured], Sequence[Measured]]


@dataclass(frozen=True)
class Together:
    """The ratio of the first sides of matches to the second sides, by one estimate.

    `logs`: its logarithm in each block; `matches`: how many there are; `cells`: their keys.
    """

    ratio: Comparison
    logs: Array
    anytime: bool
    matches: int
    cells: tuple[str, ...]

    def bound(self, level: float) -> float | None:
        """The largest difference, as a share, that the interval of this error level leaves open."""
        interval, _ = family_interval(self.logs, level, self.anytime)
        return None if interval is None else may_differ(*map(math.exp, interval))


def together(matches: Iterable[Match], estimate: str) -> Together | None:
    """All matches as one ratio; each has the same weight, and in each side each cell.

    A match of which a cell has no comparable value is left out, and so is a block that not all
    cells have. None if nothing is left.
    """
    able = [
        match for match in matches if all(c.may_compare(estimate) for side in match for c in side)
    ]
    if not able or any(not side for match in able for side in match):
        return None
    first, second = (_mean([match[place] for match in able], estimate) for place in (0, 1))
    found = compare(first, second, estimate)
    if found is None:
        return None
    return Together(
        ratio=found,
        logs=paired_logs(first.values[estimate], second.values[estimate]),
        anytime=first.anytime or second.anytime,
        matches=len(able),
        cells=tuple(dict.fromkeys(c.summary.key for match in able for s in match for c in s)),
    )


def _mean(groups: Sequence[Sequence[Measured]], estimate: str) -> Measured:
    """The geometric mean of groups, each the geometric mean of its cells, as one cell."""
    values = [[cell.values[estimate] for cell in group] for group in groups]
    first, *others = (one for group in values for one in group)
    blocks = [
        block
        for block in first
        if all(block in other for other in others)
        and all(one[block] > 0 for group in values for one in group)
    ]
    means = {
        block: math.exp(np.mean([np.mean([math.log(c[block]) for c in g]) for g in values]))
        for block in blocks
    }
    anytime = any(cell.anytime for group in groups for cell in group)
    return replace(groups[0][0], values={estimate: means}, anytime=anytime)


def judged(
    found: Sequence[Together | None],
    adjust: Callable[[Sequence[float]], list[float]] = false_discovery,
) -> list[Together | None]:
    """The ratios with verdicts as one family."""
    verdicts = iter(judged_together([each.ratio for each in found if each], adjust=adjust))
    return [each and replace(each, ratio=next(verdicts)) for each in found]


def bound_of_all(found: Iterable[Together | None]) -> float | None:
    """The largest difference that is open in any of the ratios, 95 % for all together (Bonferroni).

    None if one of them has no interval, or without any.
    """
    known = [each for each in found if each is not None]
    bounds = [each.bound(LEVEL / len(known)) for each in known]
    sizes = [each for each in bounds if each is not None]
    return max(sizes) if sizes and len(sizes) == len(known) else None
