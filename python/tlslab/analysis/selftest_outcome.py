"""The results of a self-test: false alarms, and the planted slowdowns that were found. Pure.

The blocks are cut into tries. Each pair of cells of a try is judged on its own, exactly as the
report of a run with these two cells would rank it: the same verdicts, intervals and tests.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tlslab.analysis.compare import Measured, compare, paired_logs
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.judged import JudgedCell, judged_cells
from tlslab.analysis.ranking import differing
from tlslab.analysis.stats.power import detectable
from tlslab.analysis.stats.share import proportion_interval
from tlslab.domain.estimates import CONNECTIONS, SERVER_COST, quantity
from tlslab.domain.run import RunContents
from tlslab.domain.selftest import SCHEMA, Ability, Detectable, Planted, Selftest, Tries

# The estimates by which servers are ranked; each is a ranking with its own false alarms.
RANKED_BY = (CONNECTIONS, SERVER_COST)

# The numbers of blocks for which the detectable difference is stated.
STATED_BLOCKS = (5, 10, 15, 30)


@dataclass(frozen=True)
class Pair:
    """A cell and the baseline's: the same server under another name, or a slower one."""

    first: JudgedCell
    second: JudgedCell

    @property
    def share(self) -> float:
        """The slowdown planted in the second cell."""
        return float(self.second.cell.factors["burn"].removesuffix("%")) / 100

    def within(self, start: int, end: int) -> tuple[Measured, Measured]:
        """Both cells with the trials of these blocks alone."""
        return self._cell(self.first, start, end), self._cell(self.second, start, end)

    @staticmethod
    def _cell(cell: JudgedCell, start: int, end: int) -> Measured:
        trials = [each for each in cell.trials if start <= each.trial.block < end]
        return JudgedCell(cell.cell, trials).measured(end - start, anytime=False)


def judge_selftest(contents: RunContents, blocks: int) -> Selftest:
    """The result, in tries of N blocks; blocks that do not fill a try are left out.

    An interrupted run has the tries that all cells completed.
    """
    baseline = contents.experiment.baseline
    cells = judged_cells(contents)
    tries = min((_whole(cell) for cell in cells), default=0) // blocks
    first = next(cell for cell in cells if dict(baseline).items() <= cell.cell.factors.items())
    pairs = [Pair(first, cell) for cell in cells if cell is not first]
    abilities = [_ability(pairs, estimate, tries, blocks) for estimate in RANKED_BY]
    return Selftest(
        schema=SCHEMA,
        created=contents.environment.created,
        tlslab=contents.environment.tlslab,
        machine=contents.environment.machine,
        blocks=blocks,
        measure_ms=contents.experiment.workload.capacity.measure_ms,
        by=tuple(each for each in abilities if each.alarms.tries),
    )


def _whole(cell: JudgedCell) -> int:
    """The number of blocks, from the first on, that have a trial of the cell."""
    have = {each.trial.block for each in cell.trials}
    return next(block for block in range(len(have) + 1) if block not in have)


def _ability(pairs: Sequence[Pair], estimate: str, tries: int, blocks: int) -> Ability:
    equal = [pair for pair in pairs if pair.share == 0]
    alarms = [bool(ratio) for pair in equal for ratio in _apart(pair, estimate, tries, blocks)]
    noise = _noise(equal, estimate, tries, blocks)
    between, within = _run_to_run(equal, estimate, tries, blocks)
    stated = () if noise is None else STATED_BLOCKS
    return Ability(
        estimate=estimate,
        alarms=_counted(alarms),
        planted=tuple(_planted(pair, estimate, tries, blocks) for pair in pairs if pair.share),
        noise=noise,
        detectable=tuple(Detectable(n, detectable(noise or 0.0, n)) for n in stated),
        between=between,
        within=within,
    )


def _apart(pair: Pair, estimate: str, tries: int, blocks: int) -> Iterator[float]:
    """The ratio of the pair in each try that may be ranked.

    0 if the ranking keeps the cells tied.
    """
    for cells in _ranked(pair, estimate, tries, blocks):
        found = differing(cells, estimate)[0, 1]
        yield 0.0 if found is None else 1 / found.ratio


def _ranked(
    pair: Pair, estimate: str, tries: int, blocks: int
) -> Iterator[tuple[Measured, Measured]]:
    """Both cells in each try in which they may be ranked."""
    for number in range(tries):
        cells = pair.within(number * blocks, (number + 1) * blocks)
        if all(cell.may_rank(estimate) for cell in cells):
            yield cells


def _planted(pair: Pair, estimate: str, tries: int, blocks: int) -> Planted:
    found = [
        ratio != 0 and (ratio < 1) == quantity(estimate).more_is_better
        for ratio in _apart(pair, estimate, tries, blocks)
    ]
    first, second = cells = pair.within(0, tries * blocks)
    able = all(cell.may_rank(estimate) for cell in cells)
    ratio = compare(second, first, estimate) if able else None
    return Planted(
        share=pair.share,
        found=_counted(found),
        ratio=None if ratio is None else ratio.ratio,
        low=None if ratio is None else ratio.low,
        high=None if ratio is None else ratio.high,
    )


def _counted(found: Sequence[bool]) -> Tries:
    return Tries(sum(found), len(found), *proportion_interval(sum(found), len(found)))


def _noise(equal: Sequence[Pair], estimate: str, tries: int, blocks: int) -> float | None:
    """The standard deviation of the ratios' logarithms, block by block, over all equal pairs.

    Only tries that may be ranked count: a rate that its server did not limit has a different noise.
    """
    squares, degrees = 0.0, 0
    for pair in equal:
        ranked = _ranked(pair, estimate, tries, blocks)
        parts = [paired_logs(b.values[estimate], a.values[estimate]) for a, b in ranked]
        logs = np.concatenate(parts) if parts else np.empty(0)
        if len(logs) > 1:
            squares += float(logs.var(ddof=1)) * (len(logs) - 1)
            degrees += len(logs) - 1
    return math.sqrt(squares / degrees) if degrees else None


def _run_to_run(
    equal: Sequence[Pair], estimate: str, tries: int, blocks: int
) -> tuple[float | None, float | None]:
    """The standard deviations of a server's own logarithm: of tries, and of blocks within a try.

    None with fewer than FEWEST tries. A try has the mean over both equal servers.
    """
    logs = [
        np.log([list(cell.values[estimate].values()) for cell in cells])
        for pair in equal
        for cells in _ranked(pair, estimate, tries, blocks)
        if all(len(cell.values[estimate]) == blocks > 1 for cell in cells)
    ]
    if len(logs) < FEWEST:
        return None, None
    within = math.sqrt(np.mean([each.var(axis=1, ddof=1).mean() for each in logs]))
    return float(np.std([each.mean() for each in logs], ddof=1)), within
