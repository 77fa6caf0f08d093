"""Two configurations of one server, side by side: the candidate's gains and losses."""

from tlslab.analysis.proof.summary import summarise

__all__ = ["summarise"]
