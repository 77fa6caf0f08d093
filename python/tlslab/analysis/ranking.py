"""Rankings of cells, with the ranks that the trials leave open for each. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tlslab.analysis.compare import Measured, compare, judged, may_differ, paired_logs
from tlslab.analysis.stats.estimate import family_interval, p_value
from tlslab.analysis.stats.families import LEVEL, holm
from tlslab.domain.estimates import judged_in, quantity
from tlslab.domain.finding import Comparison, Ranking, RankRange, Values
from tlslab.domain.setting import settings_of
from tlslab.domain.wording import setting_of


@dataclass(frozen=True)
class Ranked:
    """A cell with the best and the worst rank that the trials leave open for it.

    `beats`: the places, from 0, of the cells that are detectably worse.
    """

    cell: Measured
    best: int
    worst: int
    beats: tuple[int, ...] = ()


def settings(cells: Sequence[Measured], baseline: Mapping[str, str]) -> list[dict[str, str]]:
    """The combinations of the levels that are not compared, in the order of the cells."""
    return settings_of((cell.summary.factors for cell in cells), baseline)


def rankings(cells: Sequence[Measured], baseline: Mapping[str, str]) -> tuple[Ranking, ...]:
    """One ranking for each setting and ranked estimate, if there is anything to rank."""
    found = []
    for setting in settings(cells, baseline):
        mates = [c for c in cells if setting_of(c.summary.factors, baseline) == setting]
        for estimate in judged_in("ranking"):
            if ranked := rank(mates, estimate):
                places = (
                    RankRange(
                        each.cell.summary.key,
                        each.best,
                        each.worst,
                        each.beats,
                        _left_open(ranked, number, estimate),
                    )
                    for number, each in enumerate(ranked)
                )
                bounds = (e.cell.summary.key for e in ranked if e.cell.is_bound(estimate))
                found.append(Ranking(setting, estimate, tuple(places), tuple(bounds)))
    return tuple(found)


def _left_open(ranked: Sequence[Ranked], number: int, estimate: str) -> float | None:
    """The largest difference, as a share, between a cell and those that cannot be told apart from
    it.

    By Student's interval of each ratio; None if there are none, or if one has no interval.
    """
    here = ranked[number]
    found = []
    for other, each in enumerate(ranked):
        if other == number or other in here.beats or number in each.beats:
            continue
        logs = paired_logs(here.cell.values[estimate], each.cell.values[estimate])
        anytime = here.cell.anytime or each.cell.anytime
        interval = family_interval(logs, LEVEL, anytime)[0] if len(logs) else None
        if interval is None or here.cell.is_bound(estimate) or each.cell.is_bound(estimate):
            return None
        found.append(may_differ(math.exp(interval[0]), math.exp(interval[1])))
    known = [each for each in found if each is not None]
    return max(known) if known and len(known) == len(found) else None


def rank(cells: Iterable[Measured], estimate: str) -> tuple[Ranked, ...]:
    """The cells that may be ranked, best first; every pair of them is tested (Holm's adjustment).

    The order is by the cells' parts in an additive model of logarithms, cell and block; if all
    cells have all blocks, by their geometric means. The ranks follow from the tests of pairs.

    A lower bound is placed by its value. No cell is better than a lower bound, because its true
    value is unknown; a lower bound is better than the cells that lie detectably below its value. If
    all cells have lower bounds only, there is no order.
    """
    ordered = _ordered(cells, estimate)
    better = [0] * len(ordered)
    beats: list[list[int]] = [[] for _ in ordered]
    for (a, b), found in differing(ordered, estimate).items():
        if found is None:
            continue
        first, second = (a, b) if (found.ratio > 1) == quantity(estimate).more_is_better else (b, a)
        beats[first].append(second)
        better[second] += 1
    n = len(ordered)
    return tuple(
        Ranked(cell, 1 + better[i], n - len(beats[i]), tuple(sorted(beats[i])))
        for i, cell in enumerate(ordered)
    )


def behind_the_first(
    cells: Iterable[Measured], estimate: str
) -> tuple[tuple[Measured, ...], frozenset[int]]:
    """The cells in the order of their ranking, and the numbers of those behind the first one.

    The tests are the same as for the ranks, which take much longer for many cells.
    """
    ordered = _ordered(cells, estimate)
    found = differing(ordered, estimate, of_first=True)
    behind = (
        second
        for (_, second), each in found.items()
        if each is not None and (each.ratio > 1) == quantity(estimate).more_is_better
    )
    return tuple(ordered), frozenset(behind)


def _ordered(cells: Iterable[Measured], estimate: str) -> list[Measured]:
    """The cells that may be ranked, best first; none if all have lower bounds only."""
    able = [cell for cell in cells if cell.has_place(estimate)]
    if all(cell.is_bound(estimate) for cell in able):
        return []
    effects = _effects([cell.values[estimate] for cell in able])
    sign = -1.0 if quantity(estimate).more_is_better else 1.0
    return [able[i] for i in sorted(range(len(able)), key=lambda i: sign * effects[i])]


def leaders(ranked: Sequence[Ranked]) -> list[Measured]:
    """The cells that no other cell is detectably better than, in the order of the ranking."""
    return [each.cell for each in ranked if each.best == 1]


def ties(tied: Sequence[Measured], estimate: str) -> Values:
    """The differences that are open between the first of these cells and the others.

    `near` and `apart` have the largest difference that the interval of each ratio leaves open; the
    first are equivalent. `untested` share too few blocks. `bounds` are lower bounds beside others.
    """
    best, *others = tied
    near: list[Values] = []
    apart: list[Values] = []
    untested: list[str] = []
    bounds = [cell for cell in tied if cell.is_bound(estimate)]
    for other in others:
        if best in bounds or other in bounds:
            continue
        found, key = compare(best, other, estimate), other.summary.key
        left = None if found is None else found.may_differ
        if found is None or left is None:
            untested.append(key)
        else:
            open_ = near if found.verdict == "equivalent" else apart
            open_.append({"cell": key, "difference": left})
    return {
        "near": near,
        "apart": apart,
        "untested": untested,
        "bounds": [cell.summary.key for cell in bounds] if others else [],
    }


def differing(
    cells: Sequence[Measured], estimate: str, of_first: bool = False
) -> dict[tuple[int, int], Comparison | None]:
    """Every pair of the cells, by their numbers: its comparison if it differs among all pairs, else
    None.

    Ratios are the first cell over the second. A lower bound differs only as the greater side.
    `of_first`: all pairs are tested, but only those of the first cell are compared.
    """
    pairs = list(combinations(range(len(cells)), 2))
    tested = [
        p_value(logs, cells[a].anytime or cells[b].anytime)
        if not (cells[a].is_bound(estimate) and cells[b].is_bound(estimate))
        and len(logs := paired_logs(cells[a].values[estimate], cells[b].values[estimate]))
        else None
        for a, b in pairs
    ]
    adjusted = iter(holm([p for p in tested if p is not None]))
    found: dict[tuple[int, int], Comparison | None] = {}
    for (a, b), p in zip(pairs, tested, strict=True):
        within_family = None if p is None else next(adjusted)
        # The interval may take a bootstrap: it is not computed for pairs that do not differ anyway.
        candidate = (
            compare(cells[a], cells[b], estimate, bounds=True)
            if within_family is not None and within_family <= LEVEL and not (of_first and a)
            else None
        )
        judged_pair = None if candidate is None else judged(candidate, within_family)
        differs = judged_pair is not None and judged_pair.differs
        found[a, b] = judged_pair if differs else None
    return found


def _effects(values: Sequence[Mapping[int, float]]) -> list[float]:
    """The part of each cell in the logarithms of its values, beside that of the block."""
    blocks = sorted({block for each in values for block in each})
    found = [
        (cell, blocks.index(block), math.log(value))
        for cell, each in enumerate(values)
        for block, value in each.items()
        if value > 0
    ]
    design = np.zeros((len(found), len(values) + len(blocks)))
    for row, (cell, block, _) in enumerate(found):
        design[row, cell] = design[row, len(values) + block] = 1.0
    parts = np.linalg.lstsq(design, np.array([log for _, _, log in found]), rcond=None)[0]
    return [float(part) for part in parts[: len(values)]]
