"""From the content of a run folder to the summary for all reports."""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace

from tlslab.analysis.compare import Measured, comparisons, paired_logs
from tlslab.analysis.experiment import summarise_experiment
from tlslab.analysis.hosts_of_run import hosts_of
from tlslab.analysis.judged import JudgedCell, backend, judged_cells, negotiated
from tlslab.analysis.matrix.ab import ab_block
from tlslab.analysis.matrix.answer import answer
from tlslab.analysis.matrix.ended import ended
from tlslab.analysis.matrix.figures import figures
from tlslab.analysis.matrix.findings import findings, short_measurements
from tlslab.analysis.matrix.machines import machines
from tlslab.analysis.matrix.server_figures import servers_beside
from tlslab.analysis.measures import Processors, not_measurable, server_cost_us
from tlslab.analysis.open_cells import Replay, replay
from tlslab.analysis.processor_use import cpu_over_time
from tlslab.analysis.ranking import rankings
from tlslab.analysis.round_trips import first_bytes, round_trips_table
from tlslab.analysis.server_side import server_side_facts, widened
from tlslab.analysis.stats.estimate import mean_interval
from tlslab.analysis.stats.latency import quantiles, times
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import CONNECTION_TIMES
from tlslab.domain.figure import DataTable
from tlslab.domain.finding import Note, Summary
from tlslab.domain.run import RunContents
from tlslab.domain.trial import RunKind, Trial

# The server does the same work for both clients: its cost per connection must agree between a
# trial's two runs. A deviation of more than a tenth means that the lean client saves the server
# some work, or that the runs disturb it.
COST_RATIO_RANGE = (0.9, 1.1)


def summarise(contents: RunContents) -> Summary:
    """The summary of a run of the kind `matrix`."""
    experiment = contents.experiment
    stopping = experiment.stopping
    replayed = None if stopping is None else replay(contents, stopping)
    judged = judged_cells(contents)
    cells = _measured(contents, judged, replayed)
    targets = {
        cell.key: contents.environment.target_of(cell.deployment) for cell in contents.plan.cells
    }
    sentences = findings(cells, experiment.baseline, targets)
    beside = servers_beside(cells)
    short = short_measurements(contents.trials)
    ranked = rankings(cells, experiment.baseline)
    return Summary(
        experiment=summarise_experiment(contents, asdict(contents.experiment.workload)),
        environment=contents.environment,
        cells=tuple(cell.summary for cell in cells),
        excluded=contents.plan.excluded,
        comparisons=comparisons(cells, experiment.baseline),
        findings=(
            *sentences,
            *beside.findings,
            *([] if short is None else [short]),
            *machines(contents, cells, experiment.baseline),
            *(
                []
                if stopping is None or replayed is None
                else [ended(contents, stopping, replayed)]
            ),
        ),
        rankings=ranked,
        figures=(*figures(cells, experiment.baseline, ranked), *beside.figures),
        tables=(*beside.tables, *_round_trips(cells, judged)),
        server_side=server_side_facts(contents.trials),
        hosts=hosts_of(contents.trials),
        answer=answer(contents, cells, ranked, beside.answer),
    )


def measured(contents: RunContents) -> list[Measured]:
    """The cells of a run with their values by block."""
    stopping = contents.experiment.stopping
    replayed = None if stopping is None else replay(contents, stopping)
    return _measured(contents, judged_cells(contents), replayed)


def _measured(
    contents: RunContents, judged: Sequence[JudgedCell], replayed: Replay | None
) -> list[Measured]:
    return [
        _measure(
            each,
            contents.plan.blocks if replayed is None else replayed.wanted[each.cell.key],
            anytime=replayed is not None,
            processors=Processors.of(contents.environment, each.cell.deployment),
        )
        for each in judged
    ]


def _round_trips(cells: Sequence[Measured], judged: Sequence[JudgedCell]) -> tuple[DataTable, ...]:
    waits = [first_bytes(each.usable) for each in judged]
    return round_trips_table([(c.summary, w) for c, w in zip(cells, waits, strict=True)])


def _measure(judged: JudgedCell, planned: int, anytime: bool, processors: Processors) -> Measured:
    """A cell's verdict, and its estimates over the trials without a fault."""
    found, usable = judged.measured(planned, anytime), judged.usable
    latencies, missing = _latencies(usable, anytime)
    summary = replace(
        found.summary,
        reasons=(*found.summary.reasons, *_cost_mismatch(usable)),
        estimates={**widened(found.estimated(), usable), **latencies},
        not_measurable=missing | not_measurable(usable),
        ab=ab_block(usable),
        cpu_over_time=cpu_over_time(usable, processors=len(processors.server) or None),
        backend=backend(usable),
        negotiated=negotiated(usable),
    )
    return replace(found, summary=summary)


def _latencies(
    trials: Sequence[Trial], anytime: bool
) -> tuple[dict[str, Estimate], dict[str, str]]:
    found: dict[str, Estimate] = {}
    missing: dict[str, str] = {}
    for time, histogram in CONNECTION_TIMES.items():
        if parts := times(trials, histogram):
            estimates, reasons = quantiles(time, parts, anytime)
            found |= estimates
            missing |= reasons
    return found, missing


def _cost_mismatch(trials: Sequence[Trial]) -> tuple[Note, ...]:
    """A note if the server's cost per connection depends on the client that loads it."""
    costs: dict[RunKind, dict[int, float]] = {"capacity": {}, "client_cost": {}}
    for trial in trials:
        for kind, found in costs.items():
            run = trial.runs.get(kind)
            if run is not None and (cost := server_cost_us(run)) is not None:
                found[trial.block] = cost
    logs = paired_logs(costs["client_cost"], costs["capacity"])
    if not len(logs):
        return ()
    centre, interval, _ = mean_interval(logs, "log ratios")
    if interval is None:
        return ()
    low, high = (math.exp(end) for end in interval)
    if low <= COST_RATIO_RANGE[1] and high >= COST_RATIO_RANGE[0]:
        return ()
    ratio = Estimate(math.exp(centre), low, high, len(logs), "ratio", "paired by block")
    return (Note("server_cost_disagrees", values={"ratio": ratio}),)
