"""Experiments of the kind `matrix`: cells side by side, one against the other. Pure."""

from tlslab.analysis.matrix.summary import summarise

__all__ = ["summarise"]
