"""Changes over many runs of the same cells: `series` orders their values, `changes` finds steps."""

from tlslab.analysis.history.changes import LEAST_RUNS, SMALLEST
from tlslab.analysis.history.series import Run
from tlslab.analysis.history.summary import history

__all__ = ["LEAST_RUNS", "SMALLEST", "Run", "history"]
