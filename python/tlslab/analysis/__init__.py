"""From trials to a summary: pure functions, no input or output.

`stats`: statistics for any analysis. `matrix`, `capacity`, `costs` and `benchmark`: the analysts of
the kinds of experiments. `studies`: additions for published studies. `measures`: one value of each
estimate from each trial; `keep_alive`: the values of keep-alive requests. `validity`: verdicts on
trials and cells. `compare`: ratios paired by block. `published`: a study's ratios beside ours.
`overlay`: two runs compared. `history`: changes over many runs. `why`: costs split by sampled call
stacks.
"""

from tlslab.analysis import benchmark, capacity, costs, matrix, proof
from tlslab.analysis.kinds import ANALYSTS, Analyst, summarise
from tlslab.analysis.why import explained

__all__ = [
    "ANALYSTS",
    "Analyst",
    "benchmark",
    "capacity",
    "costs",
    "explained",
    "matrix",
    "proof",
    "summarise",
]
