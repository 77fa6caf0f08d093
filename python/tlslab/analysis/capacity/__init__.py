"""Experiments of the kind `capacity`: from their trials to the summary. Pure.

`cells` sorts the trials of a cell by stage and judges them, `points` are the runs of the open loop;
`figures`, `tables`, `findings` and `published` say what came of it, `summary` puts it together.
"""

from tlslab.analysis.capacity.summary import summarise

__all__ = ["summarise"]
