"""From a run of the kind `effects` to its summary."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from tlslab.analysis.compare import Measured
from tlslab.analysis.effects.answer import answer
from tlslab.analysis.effects.figures import figures, tables
from tlslab.analysis.effects.ratios import Effect, MeasureValues, Values, effects
from tlslab.analysis.experiment import summarise_experiment
from tlslab.analysis.hosts_of_run import hosts_of
from tlslab.analysis.matrix.machines import machines
from tlslab.analysis.matrix.summary import measured as measured_cells
from tlslab.analysis.server_side import server_side_facts
from tlslab.domain.effects import SHARES, Measure, Mix
from tlslab.domain.estimates import (
    CONNECTIONS,
    MIX_COST,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    ROUND_TRIPS,
    SERVER_COST,
)
from tlslab.domain.experiment import Experiment
from tlslab.domain.finding import Note, Summary
from tlslab.domain.run import RunContents

# By what a measure is judged: the server's processor time, else the rate.
_ESTIMATES: Mapping[Measure, tuple[str, str]] = {
    "new": (SERVER_COST, CONNECTIONS),
    "resumed": (SERVER_COST, CONNECTIONS),
    "request": (OPEN_SERVER_COST, OPEN_REQUESTS),
}


def summarise(contents: RunContents) -> Summary:
    """The summary of the run. Pure."""
    cells = measured_cells(contents)
    varied = varied_factors(contents.experiment)
    measured = list(_measured(contents.experiment, cells))
    found = effects(varied, measured)
    return Summary(
        experiment=summarise_experiment(contents, asdict(contents.experiment.workload)),
        environment=contents.environment,
        cells=tuple(cell.summary for cell in cells),
        excluded=contents.plan.excluded,
        comparisons=(),
        findings=tuple(machines(contents, cells, contents.experiment.baseline)),
        figures=figures(varied, measured, found),
        tables=tables(varied, measured, found, cells),
        server_side=server_side_facts(contents.trials),
        hosts=hosts_of(contents.trials),
        answer=answer(
            contents,
            varied,
            measured,
            found,
            _missing(contents, cells, found),
            _round_trips(varied, cells),
        ),
    )


def varied_factors(experiment: Experiment) -> dict[str, tuple[str, ...]]:
    """The factors of the question with their levels, the baseline's first."""
    return {
        name: (first, *(level for level in experiment.levels(name) if level != first))
        for name, first in experiment.baseline.items()
    }


def _measured(experiment: Experiment, cells: Sequence[Measured]) -> Iterator[MeasureValues]:
    found = {}
    for measure, (cost, rate) in _ESTIMATES.items():
        share = SHARES.get(measure, SHARES["new"])
        of_it = [cell for cell in cells if cell.summary.factors.get("resumed") == share]
        by_cost, by_rate = (_values(experiment, of_it, estimate) for estimate in (cost, rate))
        if by_cost and set(by_cost) >= set(by_rate):
            found[measure] = MeasureValues(measure, cost, by_cost)
        elif by_rate:
            found[measure] = MeasureValues(measure, rate, by_rate)
    yield from found.values()
    if experiment.settings is not None and (mixed := _mixed(experiment.settings, found)):
        yield mixed


def _missing(
    contents: RunContents, cells: Sequence[Measured], effects: Sequence[Effect]
) -> dict[Measure, Note | None]:
    """What was to be measured and has no effect, with a reason of the first cell without a value.

    Of one level alone there is a value, and nothing to compare it with.
    """
    experiment = contents.experiment
    wanted: dict[Measure, str] = {
        measure: share for measure, share in SHARES.items() if share in experiment.levels("resumed")
    }
    if experiment.workload.keep_alive is not None:
        wanted["request"] = SHARES["new"]
    if experiment.settings is not None:
        wanted["mix"] = ""
    found = {each.measure for each in effects}
    return {
        measure: next(
            (
                note
                for cell in sorted(cells, key=lambda cell: SERVER_COST in cell.values)
                if cell.summary.factors.get("resumed") == share
                for note in cell.summary.reasons
            ),
            None,
        )
        for measure, share in wanted.items()
        if measure not in found
    }


def _round_trips(
    varied: Mapping[str, Sequence[str]], cells: Sequence[Measured]
) -> dict[str, float]:
    """The round trips of new connections by TLS version; empty if nothing but it decides."""
    found: dict[str, set[float]] = {version: set() for version in varied.get("tls", ())}
    for cell in cells:
        trips = cell.summary.estimates.get(ROUND_TRIPS)
        if found and trips is not None and cell.summary.factors.get("resumed") == SHARES["new"]:
            found[cell.summary.factors["tls"]].add(trips.value)
    if any(len(values) != 1 for values in found.values()):
        return {}
    known = {version: values.pop() for version, values in found.items()}
    return known if len(set(known.values())) > 1 else {}


def _values(experiment: Experiment, cells: Sequence[Measured], estimate: str) -> Values:
    """The values of the cells that may be compared by an estimate."""
    return {
        frozenset((name, cell.summary.factors[name]) for name in experiment.baseline): {
            block: value for block, value in cell.values[estimate].items() if value > 0
        }
        for cell in cells
        if cell.may_compare(estimate)
    }


def _mixed(mix: Mix, measured: Mapping[Measure, MeasureValues]) -> MeasureValues | None:
    """The server's processor time for a connection of the mix with all its requests.

    None if a part of the mix is not known by its cost. The first request of a connection is in the
    cost of the connection.
    """
    parts: dict[Measure, float] = {
        "new": 1 - mix.resumed, "resumed": mix.resumed, "request": mix.requests - 1.0
    }  # fmt: skip
    needed = {name: weight for name, weight in parts.items() if weight}
    if any(name not in measured or measured[name].estimate not in (SERVER_COST, OPEN_SERVER_COST)
           for name in needed):  # fmt: skip
        return None
    values = {}
    for levels in set.intersection(*(set(measured[name].values) for name in needed)):
        of = {name: measured[name].values[levels] for name in needed}
        blocks = set.intersection(*(set(each) for each in of.values()))
        if not blocks:
            continue
        values[levels] = {
            block: sum(weight * of[name][block] for name, weight in needed.items())
            for block in sorted(blocks)
        }
    return MeasureValues("mix", MIX_COST, values) if values else None
