"""From trials to a summary: pure functions, no input or output.

`stats` has what any analysis uses; `matrix`, `capacity`, `costs` and `benchmark` are the analysts
of the kinds of experiments. `measures` takes one value of each estimate from each trial,
`keep_alive` those of keep-alive requests, `validity` judges trials and cells, `compare` has ratios
paired by block, `overlay` lays two runs over each other, `history` finds changes over many, `why`
splits costs by sampled call stacks.
"""

from tlslab.analysis.analysts import ANALYSTS, summarise
from tlslab.analysis.why import explained

__all__ = [
    "ANALYSTS",
    "explained",
    "summarise",
]
