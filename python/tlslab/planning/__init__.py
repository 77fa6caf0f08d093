"""From an experiment to a plan: cells, exclusions with reasons, seeded order. Pure."""

from tlslab.planning.cells import make_cells
from tlslab.planning.order import make_plan

__all__ = ["make_cells", "make_plan"]
