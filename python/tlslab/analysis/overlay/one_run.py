"""Two servers of one run as the two sides of a comparison: their ratios are paired by block. Pure.

Every block loads both servers, in random order. What slows the whole machine for a while slows both
sides of a block's ratio, and so hardly shows in it; between two runs, one made after the other, it
would pass for a difference of the servers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar
from urllib.parse import urlsplit

import scipy

from tlslab.analysis.analysts import ANALYSTS, MEASURED, summarise
from tlslab.analysis.compare import Measured, compare, paired_logs
from tlslab.analysis.overlay.ratios import Pair, Paired, Side
from tlslab.analysis.overlay.two_runs import overlay
from tlslab.analysis.stats.estimate import CONFIDENCE
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import EXAMPLES
from tlslab.domain.finding import CellSummary, Comparison, Summary
from tlslab.domain.run import RunContents
from tlslab.domain.wording import counted, level_label

SERVER = "server"

T = TypeVar("T")


def two_servers(contents: RunContents, margin: float) -> Summary:
    """The comparison of a run's two servers; the first that the run names is the baseline.

    Raises UsageError for runs with another number of servers, and for those without blocks.
    """
    kind = contents.experiment.kind
    if kind not in MEASURED:
        others = ", ".join(EXAMPLES[name] for name in ANALYSTS if name in MEASURED)
        raise UsageError(
            f"a run of {contents.experiment.name} has no blocks in which two servers were measured "
            "in turns",
            f"compare two runs, A and B, or take another experiment: {others}",
        )
    levels = contents.experiment.levels(SERVER)
    if len(levels) != 2:
        raise UsageError(
            f"the run has {counted(max(1, len(levels)), 'server')}: two are compared",
            "give another run, B; or measure two servers in one run: --target URL,URL",
        )
    summary = summarise(contents)
    first, second = (
        _side(summary, contents, level, name)
        for level, name in zip(levels, short_names(*levels), strict=True)
    )
    return overlay(first, second, margin, paired=_paired(MEASURED[kind](contents), levels))


def short_names(first: str, second: str) -> tuple[str, str]:
    """The servers' names; of URLs that differ by host or port, these alone."""
    hosts = urlsplit(first).netloc, urlsplit(second).netloc
    if all(hosts) and hosts[0] != hosts[1]:
        return hosts
    return level_label(SERVER, first), level_label(SERVER, second)


def _side(summary: Summary, contents: RunContents, level: str, name: str) -> Side:
    """One server's cells as those of a run; figures are of both servers, and left out."""
    found = [cell for cell in summary.cells if cell.factors.get(SERVER) == level]
    cells = tuple(replace(cell, key=_key(cell), factors=_without(cell.factors)) for cell in found)
    target = summary.environment.target
    if found:
        deployment = contents.plan.cell(found[0].key).deployment
        target = summary.environment.target_of(deployment)
    factors = {
        name: tuple(one for one in levels if any(c.factors.get(name) == one for c in cells))
        for name, levels in _without(summary.experiment.factors).items()
    }
    alone = replace(
        summary,
        cells=cells,
        figures=(),
        experiment=replace(summary.experiment, factors=factors, target=target.name),
        environment=replace(summary.environment, target=target),
    )
    return Side(name, alone, "server")


def _without(factors: Mapping[str, T]) -> dict[str, T]:
    return {name: levels for name, levels in factors.items() if name != SERVER}


def _key(cell: CellSummary) -> str:
    """The cell's key without its server: the same for both servers."""
    return ",".join(f"{name}={level}" for name, level in _without(cell.factors).items())


def _paired(cells: Sequence[Measured], levels: Sequence[str]) -> Paired:
    """The ratio of values by block of two cells, one of each server, by an estimate."""
    baseline, candidate = (
        {_key(each.summary): each for each in cells if each.summary.factors.get(SERVER) == level}
        for level in levels
    )

    def ratio(pair: Pair, name: str) -> Comparison | None:
        sides = candidate[pair.second.key], baseline[pair.first.key]
        found = compare(*sides, name)
        return None if found is None else _with_spread(found, *sides)

    return ratio


def _with_spread(found: Comparison, candidate: Measured, baseline: Measured) -> Comparison:
    """The ratio with what a gate needs, and without a verdict.

    If the run could end by its values, its error is that of a normal value whose interval is the
    confidence sequence, and a test of the single blocks would not hold.
    """
    logs = paired_logs(candidate.values[found.estimate], baseline.values[found.estimate])
    bare = replace(found, verdict="cannot_tell", adjusted_p=None)
    if found.low is None or found.high is None:
        return bare
    if baseline.anytime or candidate.anytime:
        whole = math.log(found.high / found.low)
        normal = float(scipy.special.ndtri((1 + CONFIDENCE) / 2))
        return replace(bare, error=whole / 2 / normal)
    error = float(scipy.stats.sem(logs))
    by_block = tuple(math.exp(each) for each in logs)
    return replace(bare, error=error, degrees=len(logs) - 1, by_block=by_block)
