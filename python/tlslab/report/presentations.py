"""How a report presents the cells of each kind of experiment."""

from dataclasses import dataclass

from tlslab.model.experiment import BENCHMARK, CAPACITY, COSTS, MATRIX, PROOF
from tlslab.model.finding import Summary
from tlslab.model.registry import Registry


@dataclass(frozen=True)
class Presentation:
    """How the cells of a summary are shown.

    `ranked`: in sections, one for each setting, the best cell first; findings about no cell are
    warnings then. Otherwise figures, tables and findings of the summary show them.
    """

    ranked: bool = False


PRESENTATIONS: Registry[Presentation] = Registry()

PRESENTATIONS.register(MATRIX, Presentation(ranked=True))
PRESENTATIONS.register(CAPACITY, Presentation())
PRESENTATIONS.register(COSTS, Presentation())
PRESENTATIONS.register(PROOF, Presentation())
PRESENTATIONS.register(BENCHMARK, Presentation())


def presentation(summary: Summary) -> Presentation:
    """The presentation of a summary; a comparison of two runs has that of no ranking."""
    return PRESENTATIONS.get(summary.experiment.kind, Presentation())
