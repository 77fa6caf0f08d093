"""From the run folder of a proof to the summary for its report."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from tlslab.analysis.compare import Measured
from tlslab.analysis.experiment import summarise_experiment
from tlslab.analysis.judged import backend, judged_cells
from tlslab.analysis.proof.answer import answer
from tlslab.analysis.proof.deciding_ratios import figures_of, verdict_of
from tlslab.analysis.proof.findings import findings
from tlslab.analysis.proof.sides import measured_cells
from tlslab.analysis.proof.tables import chart, configurations, excluded_clients, table
from tlslab.analysis.server_side import server_side_facts
from tlslab.analysis.stats.latency import quantiles, times
from tlslab.domain.estimates import CONNECTION_TIMES, HANDSHAKE, HANDSHAKE_P99
from tlslab.domain.finding import CellSummary, Summary
from tlslab.domain.proof import Proof
from tlslab.domain.proof_settings import needed, settings_of
from tlslab.domain.run import RunContents
from tlslab.domain.trial import Trial


def summarise(contents: RunContents) -> Summary:
    """The summary of the measurements; `advice` adds the changes for clients. Pure."""
    settings = settings_of(contents.experiment)
    trials = {each.cell.key: each.usable for each in judged_cells(contents)}
    cells = [_estimated(cell, trials[cell.summary.key]) for cell in measured_cells(contents)]
    found = figures_of(contents, cells)
    proof = Proof(settings, found, verdict_of(found, needed(contents.experiment)))
    return Summary(
        experiment=summarise_experiment(contents, asdict(contents.experiment.workload)),
        environment=contents.environment,
        cells=tuple(cell.summary for cell in cells),
        excluded=excluded_clients(contents),
        comparisons=(),
        findings=findings(contents, proof, cells),
        figures=chart(proof),
        tables=table(proof, contents.environment.found),
        texts=configurations(settings),
        server_side=server_side_facts(contents.trials),
        answer=answer(contents, proof),
        proof=proof,
    )


def _estimated(found: Measured, trials: Sequence[Trial]) -> Measured:
    """The cell with its estimates."""
    parts = times(trials, CONNECTION_TIMES[HANDSHAKE])
    latencies, missing = quantiles(HANDSHAKE, parts) if parts else ({}, {})
    estimates = found.estimated()
    # The quantile of all values is the estimate; those of the blocks only make the ratio.
    estimates.pop(HANDSHAKE_P99, None)
    summary: CellSummary = replace(
        found.summary,
        estimates={**estimates, **latencies},
        not_measurable=missing,
        backend=backend(trials),
    )
    return replace(found, summary=summary)
