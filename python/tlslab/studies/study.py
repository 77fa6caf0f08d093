"""A published study, as the lab sees it: what it adds to the summary of a run."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from tlslab.domain.experiment import Experiment
from tlslab.domain.figure import DataTable, Figure, TextBlock
from tlslab.domain.finding import Answer, Comparison, Finding, Statement, Summary
from tlslab.domain.run import RunContents
from tlslab.words.sentence import Sentences

# A study's `published.toml`; empty for a run that names no study.
Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Opening:
    """What an answer begins with, by the study's own measure; `figure`: the id of its picture, if
    it has one.
    """

    statement: Statement
    figure: str


@dataclass(frozen=True)
class Additions:
    """What a study adds to a summary, after the parts that every run of the kind has.

    `opening` comes before all. `comparisons` replace those of the summary, with published ratios;
    empty: they stay.
    """

    findings: tuple[Finding, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[DataTable, ...] = ()
    texts: tuple[TextBlock, ...] = ()
    method: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    opening: Opening | None = None


def never(experiment: Experiment) -> bool:
    """For studies that add to runs that name them only."""
    return False


def nothing(comparison: Summary, first: Summary, figures: Figures) -> tuple[DataTable, ...]:
    """For studies without two platforms."""
    return ()


@dataclass(frozen=True)
class Study:
    """A study, in the folder `room`.

    `name`: the `published` of its experiments, which are of this `kind`. `adds` is pure. Its
    findings become text by `sentences`. `also`: whether an experiment that does not name the study
    gets its additions, without the published figures. `beside`: its tables in a comparison of two
    runs on unlike machines that both name the study, by the comparison and its first run.
    """

    room: str
    name: str
    kind: str
    adds: Callable[[RunContents, Summary, Figures], Additions]
    sentences: Sentences = field(default_factory=dict)
    also: Callable[[Experiment], bool] = never
    beside: Callable[[Summary, Summary, Figures], tuple[DataTable, ...]] = nothing

    def figures(self) -> Figures:
        """The published figures."""
        file = resources.files("tlslab") / "studies" / self.room / "published.toml"
        return tomllib.loads(file.read_text("utf-8"))

    def opened(self, answer: Answer, opening: Opening, summary: Summary) -> Answer:
        """The answer with the study's own sentence and picture before its others."""
        said = opening.statement
        text = self.sentences[said.code](said.values, (), summary)
        return replace(answer, opening=replace(said, text=text), picture=opening.figure)

    def worded(self, findings: Sequence[Finding], summary: Summary) -> tuple[Finding, ...]:
        """The study's findings with their sentences."""
        return tuple(
            replace(each, text=self.sentences[each.code](each.values, each.cells, summary))
            for each in findings
        )


def source(figures: Figures) -> str:
    """Title, date, setting and method of a study."""
    return f"{figures['title']} ({figures['date']}): {figures['setting']}; {figures['method']}"
