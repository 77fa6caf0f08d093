"""Changes over many runs of the same cells.

`estimates_over_runs` orders their values, `run_history` finds steps.
"""

from tlslab.analysis.history.estimates_over_runs import Run
from tlslab.analysis.history.run_history import LEAST_RUNS, SMALLEST, history

__all__ = ["LEAST_RUNS", "SMALLEST", "Run", "history"]
