"""`--budget` for experiments with a fixed plan: as many blocks as fit into a time.

The number is decided before anything is measured, so that ordinary intervals hold.
"""

from dataclasses import dataclass, replace

from tlslab.domain.errors import UsageError
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.experiment import file_kind
from tlslab.lab.experiment_run import foresee
from tlslab.lab.request import Request

# An interval needs two blocks, a finding LEAST_BLOCKS. More than MOST blocks require --blocks.
LEAST = 2
MOST = 50


@dataclass(frozen=True)
class Fitted:
    """A request whose blocks fit into a time, and the number of blocks."""

    request: Request
    blocks: int

    @property
    def reservation(self) -> str:
        """A warning that the blocks are too few for a finding; empty if they suffice."""
        if self.blocks >= LEAST_BLOCKS:
            return ""
        return (
            f"--budget: {self.blocks} blocks fit, and fewer than {LEAST_BLOCKS} carry no sentence: "
            "the report will have figures and conclude nothing; give more time, or --quick"
        )


def within(request: Request, budget_s: float, most: int = MOST) -> Fitted:
    """The request with as many blocks as fit into the budget.

    Raises UsageError if not even two fit.
    """
    found = None
    for blocks in range(LEAST, max(most, LEAST) + 1):
        experiment = file_kind(request.experiment).with_blocks(request.experiment, blocks)
        candidate = replace(request, experiment=experiment)
        seconds = foresee(candidate).seconds
        if seconds > budget_s:
            if found is None:
                raise UsageError(
                    f"--budget: two blocks take about {round(seconds)} s",
                    "give more time, or --quick, or fewer levels (--set)",
                )
            break
        found = Fitted(candidate, blocks)
    assert found is not None
    return found
