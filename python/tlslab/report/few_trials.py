"""The summary for reports: with fewer than five trials it has values and no intervals.

With two to four values, most of an interval's width is due to their number: such a run is shown as
dots, without conclusions. `summary.json` and its CSV keep the intervals.
"""

from dataclasses import dataclass, replace

from tlslab.domain.estimate import Estimate
from tlslab.domain.figure import DataTable, Figure, Marked, TableCell
from tlslab.domain.finding import CellSummary, Comparison, Summary
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.words.numbers import NO_INTERVAL

# The method of an estimate whose interval is not shown; replaces any other text.
_METHOD = f"fewer than {LEAST_BLOCKS} trials: {NO_INTERVAL}"


@dataclass(frozen=True)
class Dot(Estimate):
    """An estimate that is shown without its interval."""


@dataclass(frozen=True)
class DotRatio(Comparison):
    """A comparison that is shown without its interval."""


def shown(summary: Summary) -> Summary:
    """The summary, without any interval if its trials are too few."""
    if not _is_few(summary):
        return summary
    return replace(
        summary,
        cells=tuple(map(_cell, summary.cells)),
        comparisons=tuple(map(_comparison, summary.comparisons)),
        figures=tuple(map(_figure, summary.figures)),
        tables=tuple(map(_table, summary.tables)),
    )


def _is_few(summary: Summary) -> bool:
    """Whether no sentence may quote a figure of the run.

    Lost clients are a sentence without figures.
    """
    answer, proof = summary.answer, summary.proof
    if answer is not None and answer.lacking is not None:
        return answer.lacking.few
    return proof is not None and all(each.n < LEAST_BLOCKS for each in proof.figures)


def _cell(found: CellSummary) -> CellSummary:
    return replace(found, estimates={name: _bare(each) for name, each in found.estimates.items()})


def _comparison(found: Comparison) -> Comparison:
    bare = replace(found, low=None, high=None, may_differ=None, method=_METHOD)
    return DotRatio(**vars(bare))


def _figure(found: Figure) -> Figure:
    return replace(found, series=tuple(replace(each, low=(), high=()) for each in found.series))


def _table(found: DataTable) -> DataTable:
    return replace(found, rows=tuple(tuple(map(_place, row)) for row in found.rows))


def _place(found: TableCell) -> TableCell:
    match found:
        case Estimate():
            return _bare(found)
        case Marked():
            return replace(found, found=_bare(found.found))
        case _:
            return found


def _bare(found: Estimate) -> Estimate:
    return Dot(**vars(replace(found, low=None, high=None, method=_METHOD)))
