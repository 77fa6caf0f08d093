"""A plan of five repetitions of each measurement, and access to the parts of a capacity summary."""

from factories.capacity import made_plan
from tlslab.domain.capacity import Objective
from tlslab.domain.figure import DataTable, Figure
from tlslab.domain.finding import Summary

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
