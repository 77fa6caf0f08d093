"""The rule that ends a run in blocks: the cells with open comparisons. Pure.

The lab evaluates the rule before each block, and the analysis replays it. A comparison that counts
as settled is settled in the report, too: its intervals and tests hold at any time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.judged import JudgedCell, judged_cells
from tlslab.analysis.ranking import differing, settings
from tlslab.domain.estimates import (
    CONNECTIONS,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    SERVER_COST,
    quantity,
)
from tlslab.domain.finding import Comparison
from tlslab.domain.run import RunContents
from tlslab.domain.stopping import Stopping
from tlslab.domain.wording import setting_of

# The estimates that a run must settle: the ranked rates; for rates that neither side limited, the
# costs.
SETTLED_BY = (
    (CONNECTIONS, SERVER_COST),
    (OPEN_REQUESTS, OPEN_SERVER_COST),
)


@dataclass(frozen=True)
class Open:
    """Pairs of cells, by their keys, that are not settled, and the cells that continue for them.

    `tested`: the number of pairs that can be compared by at least one estimate. `untested`: the
    number of pairs that cannot, because a cell is invalid or a lower bound.
    """

    pairs: frozenset[tuple[str, str]]
    cells: frozenset[str]
    tested: int = 0
    untested: int = 0


@dataclass(frozen=True)
class Replay:
    """A replay of the rule over a run.

    `wanted`: the number of blocks that each cell should have had. `left`: the open pairs after the
    last of them. `blocks`: the number of blocks that started.
    """

    wanted: Mapping[str, int]
    left: Open
    blocks: int


def still_open(contents: RunContents, stopping: Stopping, block: int) -> frozenset[str]:
    """The cells of this block (counted from 0), from the trials of the blocks before it."""
    return _going(judged_cells(contents), contents.experiment.baseline, stopping, block)[-1]


def replay(contents: RunContents, stopping: Stopping) -> Replay:
    """Goes through the blocks of a run as the lab did."""
    cells, baseline = judged_cells(contents), contents.experiment.baseline
    begun = 1 + max((trial.block for trial in contents.trials), default=-1)
    going = _going(cells, baseline, stopping, begun)[:begun]
    wanted = {each.cell.key: sum(each.cell.key in keys for keys in going) for each in cells}
    return Replay(wanted, open_pairs(_measured(cells, begun), baseline, stopping), begun)


def _going(
    cells: Sequence[JudgedCell], baseline: Mapping[str, str], stopping: Stopping, last: int
) -> list[frozenset[str]]:
    """The cells of each block up to the last. A cell that has left does not come back."""
    going = [frozenset(each.cell.key for each in cells)] * min(stopping.at_least, last + 1)
    for block in range(len(going), last + 1):
        left = open_pairs(_measured(cells, block), baseline, stopping).cells
        going.append(going[-1] & left)
    return going


def _measured(cells: Sequence[JudgedCell], block: int) -> list[Measured]:
    return [each.up_to(block).measured(block, anytime=True) for each in cells]


def open_pairs(cells: Sequence[Measured], baseline: Mapping[str, str], stopping: Stopping) -> Open:
    """The open pairs among the cells of each setting.

    A cell that may not be ranked, because it is invalid or unsupported or the generator was its
    limit, has no open pairs: more blocks would not change that.
    """
    pairs: set[tuple[str, str]] = set()
    testable: set[tuple[str, str]] = set()
    all_pairs: set[tuple[str, str]] = set()
    there = [cell for cell in cells if cell.summary.verdict != "unsupported"]
    for setting in settings(cells, baseline):
        mates = [c for c in there if setting_of(c.summary.factors, baseline) == setting]
        for rate, cost in SETTLED_BY:
            estimate = cost if any(rate in c.summary.unsaturated for c in mates) else rate
            able = [cell for cell in mates if cell.may_compare(estimate)]
            pairs |= _open_among(able, estimate, stopping)
            if any(estimate in cell.values for cell in mates):
                testable |= _pairs(able)
                all_pairs |= _pairs(mates)
    keys = frozenset(key for pair in pairs for key in pair)
    return Open(frozenset(pairs), keys, len(testable), len(all_pairs - testable))


def _pairs(cells: Sequence[Measured]) -> set[tuple[str, str]]:
    return set(combinations((cell.summary.key for cell in cells), 2))


def _open_among(
    cells: Sequence[Measured], estimate: str, stopping: Stopping
) -> set[tuple[str, str]]:
    found = differing(cells, estimate)
    beaten = set()
    for pair, comparison in found.items():
        if comparison is None or not _clearly(comparison, stopping.until):
            continue
        better = (comparison.ratio > 1) == quantity(estimate).more_is_better
        winner, loser = pair if better else pair[::-1]
        # Without TLS is no rival: what it beats may still be the best.
        if not cells[winner].summary.without_tls:
            beaten.add(loser)
    left = set()
    for (a, b), comparison in found.items():
        if comparison is not None:
            continue
        if stopping.answer == "best" and {a, b} & beaten:
            continue
        bound = compare(cells[a], cells[b], estimate)
        if bound is None or bound.may_differ is None or bound.may_differ > stopping.until:
            left.add((cells[a].summary.key, cells[b].summary.key))
    return left


def _clearly(comparison: Comparison, until: float) -> bool:
    """Whether the whole interval lies more than `until` from 1."""
    low, high = comparison.low, comparison.high
    return low is not None and high is not None and (low > 1 + until or high < 1 / (1 + until))
