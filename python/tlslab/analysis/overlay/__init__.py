"""A comparison of two runs of the same kind: ratios of shared cells, figures overlaid."""

from tlslab.analysis.overlay.pairs import Side
from tlslab.analysis.overlay.ratios import independent
from tlslab.analysis.overlay.two_runs import WARNING, overlay

__all__ = ["WARNING", "Side", "independent", "overlay"]
