"""Changes over many runs of the same cells.

`estimates_over_runs` orders their values, `changes` finds steps, `run_history` joins both.
"""

from tlslab.analysis.history.changes import LEAST_RUNS, SMALLEST
from tlslab.analysis.history.estimates_over_runs import Run
from tlslab.analysis.history.run_history import history

__all__ = ["LEAST_RUNS", "SMALLEST", "Run", "history"]
