"""Experiments of the kind `costs`: the parts of a connection's cost, and their sum. Pure.

`parts` defines the parts of a connection, `model` fits their costs block by block, `sizing`
computes from the model the number of processors for a load, `summary` makes the summary.
"""

from tlslab.analysis.costs.summary import summarise

__all__ = ["summarise"]
