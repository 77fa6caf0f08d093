"""Pools of load generators: one on this machine, or several hosts that start at one instant."""

from tlslab.lab.generators.pool import GeneratorPool
from tlslab.lab.generators.single import local_pool

__all__ = ["GeneratorPool", "local_pool"]
