"""The summary of a run, made by the analyst of its kind of experiment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tlslab.analysis import benchmark, capacity, costs, effects, matrix, proof
from tlslab.analysis.addresses import several_addresses
from tlslab.analysis.compare import Measured
from tlslab.analysis.matrix.summary import measured
from tlslab.domain.experiment import BENCHMARK, CAPACITY, COSTS, EFFECTS, MATRIX, PROOF
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents

ANALYSTS: Mapping[str, Callable[[RunContents], Summary]] = {
    BENCHMARK: benchmark.summarise,
    CAPACITY: capacity.summarise,
    COSTS: costs.summarise,
    EFFECTS: effects.summarise,
    MATRIX: matrix.summarise,
    PROOF: proof.summarise,
}

# The cells with their values by block, of the kinds that measure every cell in every block.
MEASURED: Mapping[str, Callable[[RunContents], Sequence[Measured]]] = {MATRIX: measured}

# The findings of a run with fewer than five blocks: about the run itself, and those that a capacity
# experiment judges by the repetitions of other stages than its maximum.
_OF_THE_RUN = (
    "bend",
    "ended",
    "generators",
    "growth",
    "implausible_bytes",
    "inconclusive",
    "no_cost_model",
    "parts_not_identified",
    "remedies",
    "several_addresses",
    "too_short_for_steady_state",
    "validation",
)


def summarise(contents: RunContents) -> Summary:
    """The summary of a run, from its folder's content alone. Pure."""
    summary = ANALYSTS[contents.experiment.kind](contents)
    mixed = several_addresses(contents.trials)
    summary = replace(summary, findings=(*summary.findings, *mixed))
    lacking = None if summary.answer is None else summary.answer.lacking
    if lacking is None or not lacking.few:
        return summary
    kept = tuple(each for each in summary.findings if each.code in _OF_THE_RUN)
    return replace(summary, findings=kept)
