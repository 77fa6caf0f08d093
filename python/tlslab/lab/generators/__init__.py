"""Pools of load generators: one on this machine, or several hosts that start at one instant.

`host` and `local` import nothing but Python and light modules of tlslab: nodes of a cluster run
them.
"""

from tlslab.lab.generators.pool import GeneratorPool

__all__ = ["GeneratorPool"]
