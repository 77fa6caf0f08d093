"""From the run folder of a benchmark to the summary for its report."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from tlslab.analysis.benchmark.curves import make_curves, make_splits
from tlslab.analysis.benchmark.figures import figures
from tlslab.analysis.benchmark.findings import answer, findings, split_findings
from tlslab.analysis.benchmark.fork_estimates import measure
from tlslab.analysis.benchmark.processors import compositions, costs
from tlslab.analysis.benchmark.signing_faults import (
    episodes,
    fault_figures,
    fault_findings,
    fault_table,
)
from tlslab.analysis.benchmark.tables import tables
from tlslab.analysis.compare import Measured, compare, judged_together
from tlslab.analysis.experiment import summarise_experiment
from tlslab.domain.benchmark import BenchmarkSettings, settings_of
from tlslab.domain.estimates import OPERATION_COST, OPERATIONS
from tlslab.domain.finding import CellSummary, Comparison, Note, Summary
from tlslab.domain.plan import Cell
from tlslab.domain.run import RunContents
from tlslab.domain.trial import Trial
from tlslab.domain.wording import counted

COMPARED = (OPERATIONS, OPERATION_COST)


def measured_cells(contents: RunContents) -> list[Measured]:
    """All cells without a fault, each with its estimates by fork."""
    trials = contents.by_cell
    return [
        measure(cell, trials[cell.key], contents.plan.blocks, contents.environment.machines)
        for cell in contents.plan.cells
        if "fault" not in cell.factors
    ]


def summarise(contents: RunContents) -> Summary:
    """The summary of a run of benchmarks, from its folder's content alone. Pure."""
    experiment = contents.experiment
    settings = settings_of(experiment)
    processors = len(contents.environment.target.processors)
    trials = contents.by_cell
    blocks = contents.plan.blocks
    loads = [cell for cell in contents.plan.cells if "fault" in cell.factors]
    cells = measured_cells(contents)
    curves = make_curves(cells)
    apart = make_splits(cells)
    found = costs(curves, processors)
    at, until = (settings.faults.at_s, settings.faults.until_s) if settings.faults else (0.0, 0.0)
    faults = episodes(contents.trials, at, until)
    table = fault_table(faults)
    fewest = min((threads for curve in curves for threads in curve.cells), default=1)
    composed = compositions([c for c in curves if c.benchmark != "draw"], fewest)
    reported = (*findings(curves, found, processors), *split_findings(apart))
    return Summary(
        experiment=summarise_experiment(contents, asdict(contents.experiment.settings)),
        environment=contents.environment,
        cells=(
            *(cell.summary for cell in cells),
            *(_load(cell, trials[cell.key], blocks) for cell in loads),
        ),
        excluded=contents.plan.excluded,
        comparisons=_comparisons(cells, experiment.baseline),
        findings=(
            *reported,
            *fault_findings(faults),
        ),
        figures=figures(curves, composed) + fault_figures(faults),
        tables=tables((*curves, *apart), found) + ((table,) if table else ()),
        method=_method(settings, blocks),
        answer=answer(contents, curves, reported, processors),
    )


def _load(cell: Cell, trials: Sequence[Trial], planned: int) -> CellSummary:
    """The summary of a load with a fault: such a load has a figure and no estimates."""
    done = [trial for trial in trials if trial.timeline is not None]
    reasons = [Note(trial.reason.class_, trial.reason.message) for trial in trials if trial.reason]
    if len(trials) < planned and not reasons:
        reasons.append(Note("missing_trials", f"{len(trials)} of {planned} loads were run"))
    return CellSummary(
        key=cell.key,
        factors=dict(cell.factors),
        verdict="valid" if done else ("failed" if trials else "invalid"),
        reasons=tuple(dict.fromkeys(reasons)),
        trials=len(done),
        estimates={},
    )


def _comparisons(cells: Sequence[Measured], baseline: Mapping[str, str]) -> tuple[Comparison, ...]:
    """Each cell against the one with the baseline's levels, by throughput and by its cost."""
    by_factors = {frozenset(cell.summary.factors.items()): cell for cell in cells}
    found = []
    for cell in cells:
        other = by_factors.get(frozenset({**cell.summary.factors, **baseline}.items()))
        if other is not None and other is not cell:
            found += [compare(cell, other, estimate) for estimate in COMPARED]
    return judged_together([comparison for comparison in found if comparison is not None])


def _method(settings: BenchmarkSettings, blocks: int) -> tuple[str, ...]:
    return (
        f"{counted(blocks, 'block')}; in each every cell once, in an order drawn anew. A trial is "
        f"a fork: a fresh virtual machine for each of {len(settings.modes)} modes "
        f"({', '.join(settings.modes)}), {settings.warmup_iterations} iterations of "
        f"{settings.warmup_ms / 1000:g} s discarded, {settings.iterations} of "
        f"{settings.iteration_ms / 1000:g} s counted. Means and intervals are over forks.",
        "A handshake is between two ends in memory, both authenticated with RSA-2048, over X25519 "
        "and AES-128-GCM; version, suite and the bytes of a full handshake are asserted on each. "
        "A signature is an enveloped XML signature (exclusive canonicalisation, RSA with SHA-256) "
        "of a message of 1,024 bytes drawn for it.",
        "Processor time is that of each process in the counted iterations, with compiler and "
        "collector. Latencies are service times.",
    )
