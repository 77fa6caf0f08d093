"""A plan of five repetitions of each measurement, and access to the parts of a capacity summary."""

from dataclasses import replace

from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from tlslab.domain.capacity import Objective
from tlslab.domain.figure import DataTable, Figure
from tlslab.domain.finding import Finding, Summary, Values
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


def findings(summary: Summary, code: str) -> list[Finding]:
    """The findings of this code."""
    return [finding for finding in summary.findings if finding.code == code]


def stated(summary: Summary, code: str) -> list[Values]:
    """The values of the findings of this code."""
    return [finding.values for finding in findings(summary, code)]


def statement(summary: Summary, code: str) -> Values:
    """The values of the answer's statement of this code."""
    assert summary.answer is not None
    return next(each.values for each in summary.answer.statements if each.code == code)


def highest(summary: Summary) -> Values:
    """The answer's statement on the highest rate."""
    return statement(summary, "highest_rate")


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
