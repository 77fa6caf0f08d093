"""Runs of the kind `effects`: what each factor changes, the others equal."""

from tlslab.analysis.effects.summary import summarise

__all__ = ["summarise"]
