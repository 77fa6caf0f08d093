"""Experiments of the kind `matrix`: comparisons of cells with each other. Pure."""

from tlslab.analysis.matrix.summary import summarise

__all__ = ["summarise"]
