"""Experiments of the kind `capacity`: from their trials to the summary. Pure.

`cells` sorts the trials of a cell by stage, `verdict` judges them, `points` has the runs of the
open loop. `figures`, `tables`, `findings` and `published` present the results; `summary` joins
everything.
"""

from tlslab.analysis.capacity.summary import summarise

__all__ = ["summarise"]
