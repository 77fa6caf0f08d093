"""Ratios of the cells that two sides share, and the values that one of them lacks. Pure.

Two runs are independent: no block of one belongs to a block of the other. The interval of a ratio
is put together from the intervals of both sides (stats.estimate.ratio_of), its p-value is Welch's
(stats.estimate.spread_of_ratio), both with the spread from run to run. Two servers of one run share
blocks: their ratios of values by block come paired (overlay.one_run), those of other estimates are
made of the two intervals alone.

The spread from run to run: two runs are made one after the other. What else uses the machine (its
neighbours, its clock) may be constant for the length of a run and another in the next one: the
blocks of a run then agree better with each other than with those of another run. A difference of
two runs has to exceed this, too. How much a run may be off as a whole is taken from the self-test
of the machine, whose tries are short runs one after the other; it counts more if the blocks of the
run differ more than those of the self-test did. Without a self-test a whole run is taken to be off
by as much as one of its blocks.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tlslab.analysis.compare import may_differ
from tlslab.analysis.judged_estimates import gated_rates, judged_names, leading_rate, left_open
from tlslab.analysis.server_side import comparable
from tlslab.analysis.stats import sequence
from tlslab.analysis.stats.estimate import (
    CONFIDENCE,
    MOVER,
    Spread,
    log_spread,
    ratio_of,
    spread_of_ratio,
)
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import RATIO
from tlslab.domain.finding import CellSummary, Comparison, Summary
from tlslab.domain.selftest import Ability
from tlslab.domain.wording import cell_label


@dataclass(frozen=True)
class Side:
    """A run with its name in the comparison; or one server of a run, as its `noun` says."""

    name: str
    summary: Summary
    noun: str = "run"


@dataclass(frozen=True)
class Pair:
    """A cell of the first run, and the corresponding cell of the second."""

    label: str
    first: CellSummary
    second: CellSummary


def shared_cells(first: Summary, second: Summary) -> list[Pair]:
    """Cells with equal levels; a factor may differ if each run has only one level of it.

    This way two runs of one server each are compared as two platforms.
    """
    alone = {
        name
        for name in {*first.experiment.factors, *second.experiment.factors}
        if all(len(_levels(summary, name)) <= 1 for summary in (first, second))
    }

    def key(cell: CellSummary) -> frozenset[tuple[str, str]]:
        return frozenset((n, level) for n, level in cell.factors.items() if n not in alone)

    others = {key(cell): cell for cell in second.cells}
    pairs = []
    for cell in first.cells:
        other = others.get(key(cell))
        if other is not None:
            label = cell_label({n: v for n, v in cell.factors.items() if n not in alone})
            pairs.append(Pair(label, cell, other))
    return pairs


def _levels(summary: Summary, factor: str) -> set[str]:
    return {cell.factors[factor] for cell in summary.cells if factor in cell.factors}


BY_SELFTEST = "the spread from run to run by the self-test"
BY_BLOCKS = "the spread from run to run by that of the blocks"


def selftests_know(first: Side, second: Side, name: str) -> bool:
    """Whether the self-tests of both runs' machines have the spread of an estimate."""
    return all(_ability(side, name) is not None for side in (first, second))


def as_of_any_run(side: Side, name: str, found: Estimate, by_selftest: bool) -> Estimate:
    """The estimate with an interval that contains the spread from run to run.

    `by_selftest`: that of the self-test, or else of the blocks. Unchanged without an interval.
    """
    spread = log_spread(found)
    if spread is None or found.low is None or found.high is None:
        return found
    block = _of_a_block(found, spread)
    whole = block
    ability = _ability(side, name) if by_selftest else None
    if ability is not None:
        assert ability.between is not None
        whole = ability.between
        if ability.within:
            whole *= max(1.0, block / ability.within)
    share = (1 + CONFIDENCE) / 2
    student = Spread(whole, found.n - 1).quantile(share)
    half = math.hypot(spread.quantile(share) * spread.error, student * whole)
    return replace(found, low=found.value * math.exp(-half), high=found.value * math.exp(half))


def _of_a_block(found: Estimate, spread: Spread) -> float:
    """The standard deviation of a block's logarithm, from the interval of their mean."""
    if found.anytime:
        unit = sequence.half_width(found.n, 1.0, 1 - CONFIDENCE)
        if unit is not None:
            return spread.error * spread.quantile((1 + CONFIDENCE) / 2) / unit
    return spread.error * math.sqrt(found.n)


def _ability(side: Side, name: str) -> Ability | None:
    """The self-test's result by this estimate, if it has the spread of its tries."""
    kept = side.summary.environment.selftest
    found = () if kept is None else kept.by
    return next((a for a in found if a.estimate == name and a.between is not None), None)


METHOD = f"independent runs; {MOVER}"
# Between runs, the spread from run to run counts as well.
ONE_AFTER_THE_OTHER = "two runs, one after the other"
# For what has no value in each block: quantiles over all trials.
APART = f"each server by itself; {MOVER}"

_LOWER_BOUND = "a lower bound"

Ratio = tuple[Pair, str, Comparison]

# The ratio of two cells by an estimate, paired by block; None without a block that has both values.
Paired = Callable[[Pair, str], Comparison | None]


def ratios_of(
    first: Side, second: Side, pair: Pair, paired: Paired | None = None
) -> Iterator[Ratio]:
    """The ratios of two cells, second over first, without a verdict on a difference yet.

    A ratio that says nothing about the servers is not comparable, and its method says why.
    """
    for name in judged_names(pair.first.estimates, pair.second.estimates):
        if _has(pair.first, name) and _has(pair.second, name):
            known = None if paired is None else paired(pair, name)
            if known is None:
                known = _apart(first, second, pair, name, paired is None)
            why_not = _why_not(first, second, pair, name)
            bounded = _bounded(first, second, pair, name)
            yield pair, name, _compared(pair, replace(known, bounded=bounded), why_not)


def _apart(first: Side, second: Side, pair: Pair, name: str, runs: bool) -> Comparison:
    """The ratio of estimates of two runs, or else of two servers of one run."""
    sides = pair.first.estimates[name], pair.second.estimates[name]
    if not runs:
        return independent(name, *sides, APART)
    known = selftests_know(first, second, name)
    before = as_of_any_run(first, name, sides[0], known)
    after = as_of_any_run(second, name, sides[1], known)
    words = BY_SELFTEST if known else BY_BLOCKS
    method = f"{ONE_AFTER_THE_OTHER}; {words}; {METHOD}"
    return replace(independent(name, before, after, method), across_runs=True)


def missing(first: Side, second: Side, pairs: Sequence[Pair]) -> Iterator[Comparison]:
    """Comparisons without a ratio: estimates with a value in one run only, or in neither.

    They keep a gate and a reader from taking such a cell for unchanged. Cells that are unsupported
    in both runs have none, and neither have loads with a figure and no estimate. A cell of one run
    only has the leading rate; a cell without any value has all rates of the gate.
    """
    noun = first.noun
    rates = _rates(first.summary, second.summary)
    for pair in pairs:
        if _has_nothing(pair):
            continue
        estimates = (pair.first.estimates, pair.second.estimates)
        for name in dict.fromkeys([*judged_names(*estimates), *rates]):
            has = [_has(cell, name) for cell in (pair.first, pair.second)]
            if not all(has) and (any(has) or name in rates):
                yield _missing(pair.first, pair.second, name, noun)
    paired = {id(cell) for pair in pairs for cell in (pair.first, pair.second)}
    for cell in first.summary.cells:
        if id(cell) not in paired and _has(cell, rates[0]):
            yield _missing(cell, None, rates[0], noun)
    for cell in second.summary.cells:
        if id(cell) not in paired and _has(cell, rates[0]):
            yield _missing(None, cell, rates[0], noun)


def _has_nothing(pair: Pair) -> bool:
    """Whether there is nothing to compare: unsupported in both runs, or no estimate in either."""
    verdicts = {pair.first.verdict, pair.second.verdict}
    bare = not pair.first.estimates and not pair.second.estimates
    return verdicts == {"unsupported"} or (bare and verdicts == {"valid"})


def _rates(first: Summary, second: Summary) -> tuple[str, ...]:
    """The rates by which a gate judges the runs; at least one."""
    found = {name for run in (first, second) for cell in run.cells for name in cell.estimates}
    return gated_rates(found) or (leading_rate(found),)


def _has(cell: CellSummary, name: str) -> bool:
    return name in cell.estimates and cell.estimates[name].value > 0


def _missing(
    first: CellSummary | None, second: CellSummary | None, name: str, noun: str
) -> Comparison:
    reasons = [
        f"the {side} {noun} has no {'such cell' if cell is None else f'value ({cell.verdict})'}"
        for side, cell in (("first", first), ("second", second))
        if cell is None or not _has(cell, name)
    ]
    return Comparison(
        baseline="" if first is None else first.key,
        candidate="" if second is None else second.key,
        estimate=name,
        ratio=0.0,
        low=None,
        high=None,
        n=0,
        method=" and ".join(reasons),
        verdict="cannot_tell",
    )


def _compared(pair: Pair, found: Comparison, why_not: str) -> Comparison:
    """The ratio of two cells; `why_not` is why it is not comparable, empty if it is."""
    return replace(
        found,
        baseline=pair.first.key,
        candidate=pair.second.key,
        method=f"not comparable: {why_not}" if why_not else found.method,
        verdict="not_comparable" if why_not else "cannot_tell",
    )


def _why_not(first: Side, second: Side, pair: Pair, name: str) -> str:
    """The reason that a ratio says nothing about the servers, and the runs; else empty."""
    if not comparable(first.summary, second.summary, name):
        return "the runs measured the server's side in two ways"
    sides = ((first, pair.first), (second, pair.second))
    found: dict[str, list[str]] = {}
    for side, cell in sides:
        if why := _open(cell, name):
            found.setdefault(why, []).append(side.name)
    return "; ".join(f"{' and '.join(runs)}: {why}" for why, runs in found.items())


def _open(cell: CellSummary, name: str) -> str:
    """The reason that a cell's value is not its server's; empty if it is."""
    if cell.verdict not in ("valid", "at_least"):
        return f"no valid result ({cell.verdict})"
    if why := left_open(cell, name):
        return why
    if cell.is_bound(name):
        return _LOWER_BOUND
    return "not the server's limit" if name in cell.unsaturated else ""


def _bounded(
    first: Side, second: Side, pair: Pair, name: str
) -> Literal["baseline", "candidate"] | None:
    """The side whose rate is a lower bound, where that alone keeps a ratio from being compared."""
    if not comparable(first.summary, second.summary, name):
        return None
    match _open(pair.first, name), _open(pair.second, name):
        case (why, "") if why == _LOWER_BOUND:
            return "baseline"
        case ("", why) if why == _LOWER_BOUND:
            return "candidate"
    return None


def independent(name: str, first: Estimate, second: Estimate, method: str = METHOD) -> Comparison:
    """Second over first, two estimates of which neither knows the other; without a verdict yet."""
    ratio = ratio_of(second, first, RATIO, method)
    spread = spread_of_ratio(first, second)
    return Comparison(
        baseline="",
        candidate="",
        estimate=name,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        n=ratio.n,
        method=method,
        verdict="cannot_tell",
        p=None if spread is None else spread.p_value(math.log(ratio.value)),
        may_differ=may_differ(ratio.low, ratio.high),
        error=None if spread is None else spread.error,
        degrees=None if spread is None else spread.degrees,
    )
