"""The kinds of experiments, each an object that registers itself.

A new kind is a file here, a `FileKind` in `experiment`, a dataclass of its settings in `model`, its
planner, its conductor in `lab`, its analyst in `analysis` and its presentation in `report`.
"""

from tlslab.lab.kinds import benchmark, capacity, costs, matrix, proof
from tlslab.lab.kinds.kind import KINDS, Kind, kind_of

__all__ = ["KINDS", "Kind", "benchmark", "capacity", "costs", "kind_of", "matrix", "proof"]
