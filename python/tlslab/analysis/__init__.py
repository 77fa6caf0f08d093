"""From trials to a summary: pure functions, no input or output.

`measures` takes one value of each estimate from each trial, `validity` and `steady_state` judge
trials, `estimate` puts intervals on values, `latency` on quantiles, `compare` on ratios paired by
block, `findings` says it in sentences, `published` sets a study's ratios beside ours, `summary`
joins it all.
"""

from tlslab.analysis.summary import summarise

__all__ = ["summarise"]
