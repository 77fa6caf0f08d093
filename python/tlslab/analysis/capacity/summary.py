"""From the run folder of a capacity experiment to its summary."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tlslab.analysis.capacity.bend import BEND
from tlslab.analysis.capacity.capacity_cell import CapacityCell, measure, named
from tlslab.analysis.capacity.figures import figures
from tlslab.analysis.capacity.findings import answer, findings
from tlslab.analysis.capacity.growth import LINEAR
from tlslab.analysis.capacity.tables import tables
from tlslab.analysis.compare import comparisons
from tlslab.analysis.experiment import summarise_experiment
from tlslab.analysis.hosts_of_run import hosts_of
from tlslab.analysis.server_side import server_side_facts
from tlslab.domain.capacity import CONFIRMING, CapacityPlan, Objective, plan_of
from tlslab.domain.finding import Summary
from tlslab.domain.loads import long_enough_s
from tlslab.domain.run import RunContents
from tlslab.domain.wording import counted, percent


def measured_cells(contents: RunContents, plan: CapacityPlan) -> list[CapacityCell]:
    """All cells of the plan, each with its trials and its name."""
    trials = contents.by_cell
    where = contents.environment
    return named([measure(c, trials[c.key], plan, where) for c in contents.plan.cells])


def summarise(contents: RunContents) -> Summary:
    """The summary of the run. Pure."""
    experiment = contents.experiment
    plan = plan_of(experiment)
    cells = measured_cells(contents, plan)
    measured = [cell.measured for cell in cells]
    drawn = figures(cells, plan)
    return Summary(
        experiment=summarise_experiment(
            contents, {**asdict(contents.experiment.workload), "capacity": _settings(plan)}
        ),
        environment=contents.environment,
        cells=tuple(cell.summary for cell in cells),
        excluded=contents.plan.excluded,
        comparisons=comparisons(measured, experiment.baseline),
        findings=findings(cells, plan, experiment.baseline),
        figures=drawn,
        tables=tables(cells, plan),
        method=method(plan),
        server_side=server_side_facts(contents.trials),
        hosts=hosts_of(contents.trials),
        answer=answer(contents, cells, plan, drawn),
    )


def _settings(plan: CapacityPlan) -> Mapping[str, Any]:
    found = asdict(plan)
    found["objective"] = None if plan.objective is None else str(plan.objective)
    return found


def _within_words(plan: CapacityPlan, objective: Objective) -> str:
    """The rule by which a load meets the objective."""
    words = (
        f"A load meets {objective} if the server kept up in each of its runs, and the response "
        "times of each run with enough values, and of all runs together, meet it; a run shorter "
        f"than {long_enough_s(objective):g} s cannot show that. The answer is the highest load "
        "that meets it, also with 5% more, below every load that does not. It is confirmed by "
        f"{CONFIRMING} runs at the load above."
    )
    if plan.within is None:
        return words
    return f"{words} A search in steps of 5% looks for it, with {plan.within.most} runs at most."


def method(plan: CapacityPlan) -> tuple[str, ...]:
    """The method of measurement, in paragraphs."""
    search, maximum, load = plan.search, plan.maximum, plan.open_loop
    shares = ", ".join(f"{fraction * 100:g} %" for fraction in load.fractions)
    paragraphs = [
        f"Search: a closed loop of new connections at {search.first}, and then "
        f"{search.growth:g} times as many each time, up to {search.most}; halfway between where "
        f"the rate changes by more than {percent(search.step)}. It converges when more connections "
        "bring no more, and is inconclusive when the generator, errors, the limit or noise end it "
        "first.",
        f"Maximum: {counted(maximum.trials, 'trial')} of {maximum.window.measure_ms / 1000:g} s "
        f"at that concurrency, then as many more as their spread asks for, "
        f"{maximum.most} in all at most: the 95 % interval is to be narrower than "
        f"{percent(maximum.width)} of the mean.",
        f"Response times: open loops ({load.arrivals} arrivals) of "
        f"{load.window.measure_ms / 1000:g} s at {shares} of the maximum, rounded down, "
        f"{load.trials} of each, in an order drawn anew each time. Response time counts from the "
        "intended start.",
    ]
    if load.patience_ms is not None:
        back = f", and comes back {counted(load.retries, 'time')}" if load.retries else ""
        early = "" if load.is_steady else ", and too low: users may wait longer than the warm-up"
        paragraphs.append(
            f"Patience: a user without an answer after {load.patience_ms / 1000:g} s closes the "
            f"connection{back}. Who gave up counts in the response times with the time until then, "
            "a lower bound. The share who gave up is that of the users whose wait ended in the "
            f"measurement{early}."
        )
    paragraphs.append(
        f"A response time bends at the loads whose ratio to the lowest load lies above {BEND:g} "
        "with its 95% interval; the bend begins between the highest load that lies below, with all "
        "before it, and the lowest that lies above, with all beyond it (two fixed orders). Growth "
        f"with processors is linear if a connection costs the server {percent(LINEAR)} more or "
        "less at most, at equal shares of the maxima."
    )
    if plan.objective is not None:
        paragraphs.append(_within_words(plan, plan.objective))
    if plan.fresh_server:
        paragraphs.append("Each repetition has a server of its own, started for it.")
    paragraphs.append(
        "Each interval of 95% holds by itself. Whether there is a difference is tested at 5% "
        "(Holm) for all that is said of one sort: ratios of maxima, remedies, mean response times; "
        "in the answer for all pairs of cells."
    )
    return tuple(paragraph.replace("%", " %").replace("  %", " %") for paragraph in paragraphs)
