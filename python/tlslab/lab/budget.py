"""`--budget` for experiments with a fixed plan: as many blocks as fit into a time.

The number is decided before anything is measured, so that ordinary intervals hold.
"""

from dataclasses import replace

from tlslab.experiment import file_kind
from tlslab.lab.request import Request
from tlslab.lab.run import foresee
from tlslab.model.errors import UsageError

# An interval needs two blocks. More than these are asked for with --blocks.
LEAST = 2
MOST = 50


def within(request: Request, budget_s: float, most: int = MOST) -> Request:
    """The request with the most blocks that end within the budget.

    Raises UsageError where not even two do.
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
        found = candidate
    return request if found is None else found
