"""The parts of a connection's measured cost, by sampled call stacks. Pure.

`rules` says which part a stack belongs to, `shares` makes parts of samples, `effects` compares
them with measured effects, `flames` prunes flame graphs, `cost_bars` and `explain` put them into a
summary.
"""

from tlslab.analysis.why.explain import explained

__all__ = ["explained"]
