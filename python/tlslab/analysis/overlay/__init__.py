"""A comparison of two runs of the same kind, or of two servers of one run."""

from tlslab.analysis.overlay.one_run import two_servers
from tlslab.analysis.overlay.ratios import Side, independent
from tlslab.analysis.overlay.two_runs import WARNING, overlay

__all__ = ["WARNING", "Side", "independent", "overlay", "two_servers"]
