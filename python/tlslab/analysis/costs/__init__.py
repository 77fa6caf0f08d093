"""Experiments of the kind `costs`: the parts of a connection's cost, and their sum. Pure.

`cost_parts` defines the parts of a connection, `model` fits their costs block by block,
`processors_needed` computes from the model how many processors a load takes, `summary` makes the
summary.
"""

from tlslab.analysis.costs.summary import summarise

__all__ = ["summarise"]
