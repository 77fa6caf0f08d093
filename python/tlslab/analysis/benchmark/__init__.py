"""Experiments of the kind `benchmark`: throughput and latency against concurrency. Pure.

`fork_estimates` makes the estimates of each cell from its forks, `curves` joins cells that differ
only in their threads, `processors` computes what each side's work costs, `signing_faults` analyses
the loads with a node at fault; `figures`, `tables` and `findings` present the results, `summary`
joins all of them.
"""

from tlslab.analysis.benchmark.summary import summarise

__all__ = ["summarise"]
