"""The presentation of cells in a report, for each kind of experiment."""

from dataclasses import dataclass

from tlslab.domain.experiment import BENCHMARK, CAPACITY, COSTS, MATRIX, PROOF
from tlslab.domain.finding import Summary
from tlslab.domain.registry import Registry


@dataclass(frozen=True)
class Presentation:
    """The presentation of a summary's cells.

    `ranked`: in sections, one for each setting, the best cell first; findings about no cell are
    then warnings. Otherwise the summary's own figures, tables and findings present the cells.
    """

    ranked: bool = False


PRESENTATIONS: Registry[Presentation] = Registry()

PRESENTATIONS.register(MATRIX, Presentation(ranked=True))
PRESENTATIONS.register(CAPACITY, Presentation())
PRESENTATIONS.register(COSTS, Presentation())
PRESENTATIONS.register(PROOF, Presentation())
PRESENTATIONS.register(BENCHMARK, Presentation())


def presentation(summary: Summary) -> Presentation:
    """The presentation of a summary; a comparison of two runs has no ranking."""
    return PRESENTATIONS.get(summary.experiment.kind, Presentation())
