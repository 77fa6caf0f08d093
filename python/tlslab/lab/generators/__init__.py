"""Pools of load generators: one on this machine, or several hosts that start at the same instant.

`host` and `local` import only the standard library and light modules of tlslab, because nodes of a
cluster run them.
"""

from tlslab.lab.generators.pool import GeneratorPool

__all__ = ["GeneratorPool"]
