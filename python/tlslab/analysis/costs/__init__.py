"""Experiments of the kind `costs`: the parts of a connection's cost, and what they add up to. Pure.

`parts` says which parts a connection has, `model` fits their costs block by block, `plan` asks the
model how many processors a load takes, `summary` makes the report.
"""

from tlslab.analysis.costs.summary import summarise

__all__ = ["summarise"]
