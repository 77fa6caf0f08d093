"""The parts of a connection's measured cost, by sampled call stacks. Pure.

`rules` assigns stacks to parts, `shares` turns samples into parts, `effects` compares them with
measured effects, `flames` prunes flame graphs, `figures` and `explain` put them into a summary.
"""

from tlslab.analysis.why.explain import explained

__all__ = ["explained"]
