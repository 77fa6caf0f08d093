"""Summaries with their sentences, as the lab makes them."""

from collections.abc import Mapping, Sequence

from tlslab import advice, analysis
from tlslab.advice.choice import Recommendation
from tlslab.advice.policy import Policy
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.lab.results import analysed
from tlslab.words import worded


def summarise(contents: RunContents) -> Summary:
    """The summary of a run, with the samples of its stacks and its sentences."""
    return worded(analysis.explained(analysed(contents), contents))


def advised(
    summary: Summary,
    recommended: Mapping[str, Recommendation] | None = None,
    by: Sequence[Policy] | None = None,
) -> Summary:
    """The summary with its advice and its sentences."""
    return worded(advice.advised(summary, recommended, by))
