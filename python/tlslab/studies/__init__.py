"""The published studies that the lab repeats, a room each.

A room has the study's experiments, its published figures (`published.toml`), the questions that its
author left open, and the code that answers them. `joined` adds to a run's summary what the studies
have to say on it, `beside` to a comparison of two runs; nothing below `lab` knows any of them.
`study` has their common form.
"""

from collections.abc import Sequence
from dataclasses import replace

from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents, kind_of_machine
from tlslab.studies.capacity import CAPACITY
from tlslab.studies.concurrency import CONCURRENCY
from tlslab.studies.groups import GROUPS
from tlslab.studies.runtimes import RUNTIMES
from tlslab.studies.study import Additions, Study
from tlslab.studies.suites import SUITES

__all__ = ["STUDIES", "beside", "joined", "named"]

STUDIES = (GROUPS, SUITES, RUNTIMES, CONCURRENCY, CAPACITY)


def named(experiment: Experiment) -> Study | None:
    """The study that an experiment names, if any. Raises UsageError for unknown names."""
    if experiment.published is None:
        return None
    known = {study.name: study for study in STUDIES if study.kind == experiment.kind}
    if experiment.published not in known:
        raise UsageError(
            f"no published study '{experiment.published}' for the kind {experiment.kind}",
            f"known: {', '.join(sorted(known))}",
        )
    return known[experiment.published]


def joined(summary: Summary, contents: RunContents) -> Summary:
    """The summary with the additions of the studies. Pure.

    A run with too few blocks for findings gets none. Raises UsageError if the experiment names an
    unknown study.
    """
    own = named(contents.experiment)
    for study in STUDIES:
        if study is own:
            summary = _with(summary, study, study.adds(contents, summary, study.figures()))
        elif study.kind == contents.experiment.kind and study.also(contents.experiment):
            summary = _with(summary, study, study.adds(contents, summary, {}))
    return summary


def beside(comparison: Summary, runs: Sequence[tuple[RunContents, Summary]]) -> Summary:
    """The comparison of two runs with the tables of the study that both name. Pure.

    Runs on machines of one kind get none: the studies' two platforms are two machines.
    """
    study, *others = (named(contents.experiment) for contents, _ in runs)
    machines = {kind_of_machine(contents.environment) for contents, _ in runs}
    if study is None or others != [study] or len(machines) < 2:
        return comparison
    tables = study.beside(comparison, runs[0][1], study.figures())
    return replace(comparison, tables=(*comparison.tables, *tables))


def _with(summary: Summary, study: Study, added: Additions) -> Summary:
    lacking = None if summary.answer is None else summary.answer.lacking
    few = lacking is not None and lacking.few
    answer = summary.answer
    if answer is not None and added.opening is not None and not few:
        answer = study.opened(answer, added.opening, summary)
    return replace(
        summary,
        answer=answer,
        findings=(*summary.findings, *study.worded(() if few else added.findings, summary)),
        figures=(*summary.figures, *added.figures),
        tables=(*summary.tables, *added.tables),
        texts=(*summary.texts, *added.texts),
        method=(*summary.method, *added.method),
        comparisons=added.comparisons or summary.comparisons,
    )
