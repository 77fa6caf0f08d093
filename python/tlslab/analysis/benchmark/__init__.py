"""Experiments of the kind `benchmark`: throughput and latency against concurrency. Pure.

`cells` computes the estimates of each cell from its forks, `curves` joins cells that differ only in
their threads, `processors` computes the cost of each side's work, `faults` analyses the loads with
a node at fault. `figures`, `tables` and `findings` present the results; `summary` joins everything.
"""

from tlslab.analysis.benchmark.summary import summarise

__all__ = ["summarise"]
