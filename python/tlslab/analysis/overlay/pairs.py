"""The pairs of corresponding cells of two runs."""

from dataclasses import dataclass

from tlslab.domain.finding import CellSummary, Summary
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
