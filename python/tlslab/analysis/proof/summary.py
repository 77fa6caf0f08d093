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
from tlslab.domain.proof_settings import ProofSettings, needed, settings_of
from tlslab.domain.run import RunContents
from tlslab.domain.trial import Trial
from tlslab.domain.wording import percent_as_given


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
        method=_method(contents, settings, sum(not each.why_open for each in found)),
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


def _method(contents: RunContents, settings: ProofSettings, ratios: int) -> tuple[str, ...]:
    window, kept = contents.experiment.workload.capacity, contents.experiment.workload.keep_alive
    where = "the live server, switched by the commands" if settings.apply else "one server"
    requests = "" if kept is None else f", and for {kept.window.measure_ms / 1000:g} s requests"
    return (
        f"Baseline and candidate on {where}, in turns: in each block both, in an order drawn anew. "
        f"New clients and returning ones each load it for {window.measure_ms / 1000:g} s by a "
        f"closed loop of new connections{requests} on connections kept open.",
        f"Connections are those of {settings.client}: version, suite, group and signature scheme "
        "are what each configuration chose on one verified connection with that client's lists, "
        "and every connection of the run is held to them. Returning clients resume a session; of "
        "a configuration that resumes none they are measured as new ones.",
        f"Ratios are paired by block. The {ratios} that can establish anything are one family: "
        "gain and loss are established by intervals that hold together with 95 % (Bonferroni). No "
        "difference: each deciding ratio's own interval of 95 % lies within "
        f"{percent_as_given(settings.margin)}. A gain is deployed where no deciding ratio's own "
        "interval allows a loss of more than that. A rate decides where it establishes a gain or "
        "a loss; otherwise the server's processor time does, which is steadier; without that the "
        "rate.",
    )
