"""A plan of five repetitions of each measurement, and access to the parts of a capacity summary."""

from dataclasses import replace

from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from tlslab.domain.capacity import Objective
from tlslab.domain.figure import DataTable, Figure
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.domain.validation import Comparison, PhaseResult, RateResult, Resolution

# Five repetitions of each measurement: with fewer, a summary has no sentences.
FIVE = made_plan(remedies=True, objective=Objective("p99", 5.0), repetitions=5)


def figure(summary: Summary, name: str) -> Figure:
    """The figure of this id."""
    return next(each for each in summary.figures if each.id == name)


def table(summary: Summary, name: str) -> DataTable:
    """The table of this id."""
    return next(each for each in summary.tables if each.id == name)


def texts(summary: Summary, code: str) -> list[str]:
    """The findings of this code."""
    return [finding.text for finding in summary.findings if finding.code == code]


def first_sentence(summary: Summary) -> str:
    """The first sentence of the answer."""
    assert summary.answer is not None
    return summary.answer.sentences[0]


def codes(summary: Summary, server: str) -> set[str]:
    """The findings about the cell of a server with one processor, by code."""
    return {note.code for note in summary.cell(f"server={server},processors=1").reasons}


def captured_run(dropped: int = 0) -> RunContents:
    """A run with one time beside a packet capture that lost N packets."""
    plan = made_plan(objective=Objective("mean", 5.0))
    contents = made_capacity_run({"nginx": CapacityWorld()}, plan)
    comparison = Comparison(0.5, 4.02, 4.0, 1.005, "1 %")
    phase = PhaseResult("close", 1000, (comparison,), 3.0, 9.0)
    seen = (1000, 1000, 0, 9000, dropped)
    result = RateResult(500, 499.8, Resolution(5, 9, 100), *seen, (phase,))
    last = contents.trials[-1]
    factors = {**last.factors, "stage": "validation"}
    validated = replace(last, factors=factors, validation=result)
    return replace(contents, trials=(*contents.trials, validated))
