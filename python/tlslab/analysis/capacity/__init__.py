"""Experiments of the kind `capacity`: from their trials to the summary. Pure.

`capacity_cell` sorts the trials of a cell by stage, `verdict` judges them, `points` are the runs of
the open loop; `figures`, `tables` and `findings` present the results, `summary` joins all of
them.
"""

from tlslab.analysis.capacity.summary import summarise

__all__ = ["summarise"]
