"""Summaries with their sentences, as the lab makes them."""

from collections.abc import Mapping, Sequence

from tlslab import advice, analysis
from tlslab.advice.choice import Recommendation
from tlslab.advice.policy import Policy
from tlslab.analysis.overlay import Side
from tlslab.analysis.overlay import overlay as bare_overlay
from tlslab.domain.finding import Answer, ExperimentSummary, Summary
from tlslab.domain.run import Environment, RunContents, TargetInfo
from tlslab.lab.results import analysed
from tlslab.words import worded


def summarise(contents: RunContents) -> Summary:
    """The summary of a run, with the samples of its stacks and its sentences."""
    return worded(analysis.explained(analysed(contents), contents))


def overlay(first: Side, second: Side) -> Summary:
    """The comparison of two runs, with its sentences."""
    return worded(bare_overlay(first, second))


def answered(answer: Answer, kind: str) -> Answer:
    """An answer with its sentences, as in a run of this kind."""
    experiment = ExperimentSummary("made up", "", "", 1, 1, 1, {}, {}, {}, kind)
    where = Environment("", "", (), TargetInfo("", True, "", "", (), "", "/"), (), {}, {})
    found = worded(Summary(experiment, where, (), (), (), (), answer=answer)).answer
    assert found is not None
    return found


def advised(
    summary: Summary,
    recommended: Mapping[str, Recommendation] | None = None,
    by: Sequence[Policy] | None = None,
) -> Summary:
    """The summary with its advice and its sentences."""
    return worded(advice.advised(summary, recommended, by))
