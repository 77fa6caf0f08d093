"""From trials to a summary: pure functions, no input or output.

`measures` takes one value of each estimate from each trial, `kept_open` those of connections that
are kept open, `validity` and `steady_state` judge
trials, `estimate` puts intervals on values, `latency` on quantiles, `compare` on ratios paired by
block, `findings` says it in sentences, `published` sets a study's ratios beside ours, `summary`
joins it all. `scaling` fits throughput against concurrency; `concurrency` is study P.
"""

from collections.abc import Callable, Mapping

from tlslab.analysis.benchmark import summarise as summarise_benchmark
from tlslab.analysis.capacity import summarise as summarise_capacity
from tlslab.analysis.matrix.summary import summarise_matrix
from tlslab.model.experiment import BENCHMARK, CAPACITY, MATRIX
from tlslab.model.finding import Summary
from tlslab.model.run import RunContents

__all__ = ["SUMMARISERS", "summarise"]

# What is made of a run of each kind of experiment.
SUMMARISERS: Mapping[str, Callable[[RunContents], Summary]] = {
    MATRIX: summarise_matrix,
    CAPACITY: summarise_capacity,
    BENCHMARK: summarise_benchmark,
}


def summarise(contents: RunContents) -> Summary:
    """All that can be said of a run, from its folder's content alone.

    Pure. Raises UsageError when the experiment names a published study that is not shipped.
    """
    return SUMMARISERS[contents.experiment.kind](contents)
