"""From an experiment to a plan: cells, exclusions with reasons, seeded order. Pure."""

from tlslab.planning.cells import make_cells
from tlslab.planning.order import Refuse, make_plan, refuse_levels

__all__ = ["Refuse", "make_cells", "make_plan", "refuse_levels"]
