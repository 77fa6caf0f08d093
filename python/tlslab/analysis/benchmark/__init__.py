"""Experiments of the kind `benchmark`: throughput and latency against concurrency. Pure.

`cells` makes estimates of the forks of each cell, `curves` joins cells that differ in their threads
only, `processors` asks what each side's work costs, `faults` reads the loads with a node at fault;
`figures`, `tables`, `findings` say it, `summary` joins it all.
"""

from tlslab.analysis.benchmark.summary import summarise

__all__ = ["summarise"]
