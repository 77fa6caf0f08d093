"""What the blocks of a self-test show: false alarms, and which planted slowdowns were found. Pure.

The blocks are cut into tries. Each pair of cells of a try is judged on its own, as the ranking in
the report of a run with these two cells judges it: the same verdicts, intervals and tests.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlslab.analysis.compare import Measured, compare, more_is_faster, paired_logs
from tlslab.analysis.matrix.cells import JudgedCell, judged_cells
from tlslab.analysis.ranking import differing
from tlslab.analysis.stats.power import detectable
from tlslab.analysis.stats.proportion import proportion_interval
from tlslab.model.finding import Comparison
from tlslab.model.run import RunContents
from tlslab.model.selftest import SCHEMA, Detectable, Planted, Selftest, Tries

# By what a slowdown is to be found: the rate; where nobody limited that, the server's cost.
FOUND_BY = ("connections_per_s", "server_cpu_us_per_connection")

# The numbers of blocks for which the detectable difference is stated.
STATED_BLOCKS = (5, 10, 15, 30)


@dataclass(frozen=True)
class Pair:
    """A cell beside the baseline's: the same server under another name, or a slower one."""

    first: JudgedCell
    second: JudgedCell

    @property
    def share(self) -> float:
        """The slowdown that was planted in the second."""
        return float(self.second.cell.factors["burn"].removesuffix("%")) / 100

    def within(self, begin: int, end: int) -> tuple[Measured, Measured]:
        """Both cells with the trials of these blocks alone."""
        return self._cell(self.first, begin, end), self._cell(self.second, begin, end)

    @staticmethod
    def _cell(cell: JudgedCell, begin: int, end: int) -> Measured:
        trials = [each for each in cell.trials if begin <= each.trial.block < end]
        return JudgedCell(cell.cell, trials).measured(end - begin, anytime=False)


def judge_selftest(contents: RunContents, blocks: int) -> Selftest:
    """The result, in tries of N blocks; blocks that make no whole try are left out.

    An interrupted run has the tries that all cells have ended.
    """
    baseline = contents.experiment.baseline
    cells = judged_cells(contents)
    tries = min((_whole(cell) for cell in cells), default=0) // blocks
    first = next(cell for cell in cells if dict(baseline).items() <= cell.cell.factors.items())
    pairs = [Pair(first, cell) for cell in cells if cell is not first]
    equal = [pair for pair in pairs if pair.share == 0]
    alarms = [found is not None for pair in equal for found in _tries(pair, tries, blocks)]
    noise = _noise(equal, tries * blocks)
    return Selftest(
        schema=SCHEMA,
        created=contents.environment.created,
        tlslab=contents.environment.tlslab,
        machine=contents.environment.machine,
        blocks=blocks,
        measure_ms=contents.experiment.workload.capacity.measure_ms,
        alarms=_counted(alarms),
        planted=tuple(_planted(pair, tries, blocks) for pair in pairs if pair.share),
        noise=noise,
        detectable=()
        if noise is None
        else tuple(Detectable(n, detectable(noise, n)) for n in STATED_BLOCKS),
    )


def _whole(cell: JudgedCell) -> int:
    """The number of blocks, from the first on, that have a trial of the cell."""
    have = {each.trial.block for each in cell.trials}
    return next(block for block in range(len(have) + 1) if block not in have)


def _tries(pair: Pair, tries: int, blocks: int) -> Iterator[Comparison | None]:
    """What the ranking of each try says of the pair: the comparison, if it sets the two apart."""
    for number in range(tries):
        cells = pair.within(number * blocks, (number + 1) * blocks)
        estimate = _ranked_by(cells)
        yield None if estimate is None else differing(cells, estimate)[0, 1]


def _ranked_by(cells: tuple[Measured, Measured]) -> str | None:
    """The first estimate that both may be ranked by."""
    return next((name for name in FOUND_BY if all(c.may_rank(name) for c in cells)), None)


def _planted(pair: Pair, tries: int, blocks: int) -> Planted:
    found = [
        each is not None and (each.ratio > 1) == more_is_faster(each.estimate)
        for each in _tries(pair, tries, blocks)
    ]
    first, second = cells = pair.within(0, tries * blocks)
    estimate = _ranked_by(cells)
    ratio = None if estimate is None else compare(second, first, estimate)
    return Planted(
        share=pair.share,
        found=_counted(found),
        estimate=estimate or FOUND_BY[0],
        ratio=None if ratio is None else ratio.ratio,
        low=None if ratio is None else ratio.low,
        high=None if ratio is None else ratio.high,
    )


def _counted(found: Sequence[bool]) -> Tries:
    return Tries(sum(found), len(found), *proportion_interval(sum(found), len(found)))


def _noise(equal: Sequence[Pair], blocks: int) -> float | None:
    """The deviation of the logarithms of the ratios, block by block, over all equal pairs."""
    squares, degrees = 0.0, 0
    for pair in equal:
        first, second = cells = pair.within(0, blocks)
        estimate = _ranked_by(cells)
        if estimate is None:
            continue
        logs = paired_logs(second.values[estimate], first.values[estimate])
        if len(logs) > 1:
            squares += float(logs.var(ddof=1)) * (len(logs) - 1)
            degrees += len(logs) - 1
    return math.sqrt(squares / degrees) if degrees else None
