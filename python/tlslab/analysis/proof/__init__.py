"""Two configurations of one server, side by side: what the candidate gains and what it loses."""

from tlslab.analysis.proof.summary import summarise

__all__ = ["summarise"]
