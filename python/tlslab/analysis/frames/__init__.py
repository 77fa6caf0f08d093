"""A run's raw results as tables: one for each kind of row.

`trials` has a row for each trial, `runs` for each run of the engine in it, `seconds` for each slice
of a run, `histograms` for each counted value, `hosts` for each of several generators of a run,
`benchmarks` for each iteration of a benchmark.
"""

from collections.abc import Callable, Mapping

from tlslab.analysis.frames.engine_tables import histograms, hosts, runs, seconds
from tlslab.analysis.frames.frame import Frame
from tlslab.analysis.frames.trials import benchmarks, trials
from tlslab.domain.run import RunContents

__all__ = ["FRAMES"]

FRAMES: Mapping[str, Callable[[RunContents], Frame]] = {
    "trials": trials,
    "runs": runs,
    "seconds": seconds,
    "histograms": histograms,
    "hosts": hosts,
    "benchmarks": benchmarks,
}
