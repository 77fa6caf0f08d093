"""Two runs of the same kind, or two servers of one run, as one summary. Pure.

It has the ratios of shared cells, and the figures of both sides overlaid.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tlslab.analysis.compare import judged_together
from tlslab.analysis.judged_estimates import WORDS
from tlslab.analysis.overlay.differences import answer
from tlslab.analysis.overlay.ratios import (
    METHOD,
    Pair,
    Paired,
    Side,
    missing,
    ratios_of,
    shared_cells,
)
from tlslab.analysis.overlay.tables_and_figures import difference_table, laid_over, ratio_table
from tlslab.analysis.stats.estimate import MOVER
from tlslab.domain.enough import EQUIVALENCE
from tlslab.domain.errors import UsageError
from tlslab.domain.finding import ExperimentSummary, Finding, Summary
from tlslab.domain.run import Environment, kind_of_machine, machine_words

KIND = "comparison"

WARNING = (
    "Absolute rates depend on processor, kernel and libraries. A ratio gives the size of a "
    "difference between these two runs, not its cause."
)


# The same for two servers of one run.
ONE_RUN_WARNING = (
    "Both servers were loaded in turns, in random order: a ratio gives the size of a difference "
    "between them on this machine, not its cause."
)
PAIRED = f"paired by block; those of times: {MOVER}"


def overlay(
    first: Side, second: Side, margin: float = EQUIVALENCE, paired: Paired | None = None
) -> Summary:
    """The comparison as a summary; its ratios are second over first.

    A ratio whose interval lies within `margin` of 1 is called equivalent. `paired`: both sides are
    of one run, and these are the ratios of values that its blocks have.

    Raises UsageError for runs of different kinds, and for runs that share no cell.
    """
    kinds = (first.summary.experiment.kind, second.summary.experiment.kind)
    if kinds[0] != kinds[1]:
        raise UsageError(
            f"{first.name} is a run of {first.summary.experiment.name}, {second.name} one of "
            f"{second.summary.experiment.name}: they measure different things",
            "compare runs of one experiment",
        )
    pairs = shared_cells(first.summary, second.summary)
    if not pairs:
        raise UsageError(
            f"{first.name} and {second.name} share no cell",
            "compare runs of the same experiment, with the same levels",
        )
    found = [each for pair in pairs for each in ratios_of(first, second, pair, paired)]
    judged = judged_together([comparison for _, _, comparison in found], margin)
    ratios = [
        (pair, name, comparison) for (pair, name, _), comparison in zip(found, judged, strict=True)
    ]
    drawn = tuple(laid_over(first, second, pairs))
    bare = tuple(missing(first, second, pairs))
    measured = {n for side in (first, second) for c in side.summary.cells for n in c.estimates}
    return Summary(
        experiment=_experiment(first, second),
        environment=_environment(first, second, paired is not None),
        cells=(),
        excluded=(),
        comparisons=(
            *(comparison for _, _, comparison in ratios),
            *bare,
        ),
        findings=tuple(_findings(first, second, pairs)),
        figures=drawn,
        tables=tuple(
            table
            for table in (ratio_table(first, second, ratios), difference_table(first, second))
            if table.rows
        ),
        method=(f"Intervals of ratios: {METHOD if paired is None else PAIRED}.", WORDS),
        answer=answer(
            (first.name, second.name),
            [(pair.label, comparison) for pair, _, comparison in ratios],
            drawn[0].id if drawn else "",
            first.summary.environment.command,
            sum(each.estimate in measured for each in bare),
            # Such a run ends by the comparisons within a server.
            until=bool(first.summary.rankings) and paired is None,
        ),
    )


def _findings(first: Side, second: Side, pairs: Sequence[Pair]) -> Iterator[Finding]:
    missing = len(first.summary.cells) + len(second.summary.cells) - 2 * len(pairs)
    if missing:
        yield Finding("left_out", values={"cells": missing, "noun": first.noun})


def _experiment(first: Side, second: Side) -> ExperimentSummary:
    mine, others = first.summary.experiment, second.summary.experiment
    alike = {n: each for n, each in mine.workload.items() if others.workload.get(n) == each}
    return replace(
        mine,
        workload=alike,
        name="compare",
        title=f"{first.name} and {second.name}: {mine.title}",
        target=f"{mine.target}, {others.target}",
        kind=KIND,
    )


def _environment(first: Side, second: Side, one_run: bool) -> Environment:
    """The first run's environment, with the warnings of both."""
    where = first.summary.environment
    if one_run:
        return replace(where, warnings=(ONE_RUN_WARNING, *where.warnings))
    warnings = [
        f"{side.name}: {warning}"
        for side in (first, second)
        for warning in side.summary.environment.warnings
    ]
    warnings = [WARNING, *_unlike(first, second), *warnings]
    return replace(where, warnings=tuple(warnings))


def _unlike(first: Side, second: Side) -> Iterator[str]:
    """A warning if the runs come from two kinds of machines."""
    sides = (first, second)
    if len({kind_of_machine(side.summary.environment) for side in sides}) > 1:
        named = [f"{side.name}: {machine_words(side.summary.environment)}" for side in sides]
        yield (
            f"The runs come from unlike machines: {'; '.join(named)}. A difference may be that of "
            "the machines."
        )
