"""A cell of a capacity experiment: its trials by stage, its verdict, its estimates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tlslab.analysis import steadiness
from tlslab.analysis.capacity.openness import is_least, open_codes, open_words
from tlslab.analysis.capacity.points import Point, by_fraction, judged, point, time_estimates
from tlslab.analysis.capacity.saturation import Capacity, capacity
from tlslab.analysis.capacity.verdict import disturbances, judge, limit_words
from tlslab.analysis.capacity.warm_up_outcome import all_warm
from tlslab.analysis.compare import Measured
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.judged import backend, negotiated
from tlslab.analysis.measures import Processors, loading_values
from tlslab.analysis.processor_use import cpu_over_time
from tlslab.analysis.server_side import widened
from tlslab.analysis.stats.estimate import two_stage_estimate
from tlslab.analysis.stats.latency import quantiles
from tlslab.domain.capacity import CapacityPlan, Stage
from tlslab.domain.distribution import Distribution
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CAPACITY,
    CONNECTIONS,
    RESPONSE,
    SERVER_BUSY,
    SERVICE,
    at_load,
    in_order,
    quantity,
)
from tlslab.domain.finding import CellSummary
from tlslab.domain.loads import loads_of
from tlslab.domain.plan import Cell
from tlslab.domain.run import Environment
from tlslab.domain.run_faults import usable
from tlslab.domain.run_record import load_histograms
from tlslab.domain.search import Level, Next, SearchState, pooled, search_levels, search_state
from tlslab.domain.trial import Trial

# The estimate of the highest load that meets the objective. Only a confirmed load is one.


@dataclass(frozen=True)
class CapacityCell:
    """The results of one cell.

    `levels`: those of the search. `values`: the trials of the maximum by estimate name and
    repetition. `points`: the open loops at the experiment's fractions; `searched`: those of the
    search within the objective. `capacity`: the highest load that meets the experiment's objective,
    if there is one. `limit`: in words, the side that limited the rate of the maximum. `open`: codes
    (openness) of the reasons that the server's highest rate is not known.
    """

    cell: Cell
    trials: Sequence[Trial]
    levels: tuple[Level, ...]
    search: SearchState
    summary: CellSummary
    values: Mapping[str, Mapping[int, float]]
    points: Sequence[Point]
    searched: Sequence[Point]
    capacity: Capacity | None
    shared: bool
    limit: str = ""
    open: tuple[str, ...] = ()

    def of(self, stage: Stage) -> list[Trial]:
        """The done trials of a stage."""
        return [t for t in self.trials if t.factors.get("stage") == stage and t.status == "done"]

    @property
    def loads(self) -> list[Point]:
        """All open loops."""
        return [*self.points, *self.searched]

    @property
    def has_answer(self) -> bool:
        """Whether a sentence may say which load meets the objective.

        By a search, or by enough repetitions at the loads that were offered.
        """
        return self.capacity is not None and (bool(self.searched) or self.capacity.n >= FEWEST)

    @property
    def key(self) -> str:
        """The cell's key."""
        return self.cell.key

    @property
    def factors(self) -> Mapping[str, str]:
        """The cell's own levels."""
        return self.cell.factors

    @property
    def measured(self) -> Measured:
        """The cell in the form for comparisons; repetitions take the place of blocks."""
        return Measured(self.summary, self.values)

    @property
    def maximum(self) -> Estimate | None:
        """The highest rate in new connections/s; None if it was not measured."""
        return self.summary.estimates.get(CONNECTIONS)

    @property
    def connections(self) -> int | None:
        """The concurrency of the maximum."""
        peak = None if isinstance(self.search, Next) else self.search.peak
        return None if peak is None else peak.connections


def cell_processors(cell: Cell, environment: Environment) -> tuple[Processors, bool]:
    """The processors of server and generator in a cell, and whether they share one."""
    generator = environment.generator_processors
    target = environment.target_of(cell.deployment)
    server = target.processors
    if cell.deployment is None and target.managed and "processors" in cell.factors:
        server = tuple(range(int(cell.factors["processors"])))
    return Processors(server, generator), bool(set(server) & set(generator))


def measure(
    cell: Cell, trials: Sequence[Trial], plan: CapacityPlan, where: Environment
) -> CapacityCell:
    """Sorts and judges the trials of one cell."""
    processors, shared = cell_processors(cell, where)
    searched = search_levels(trials)
    levels = pooled(searched)
    search = search_state(searched, plan.search)
    maxima = [t for t in trials if t.factors.get("stage") == "maximum"]
    counted_in = [t for t in maxima if usable(t, "maximum")]
    values = _values(counted_in, processors)
    points, within = (_points(trials, s, processors, shared) for s in ("open_loop", "within"))
    estimates = _estimates(values, plan.maximum.trials)
    times, missing = _times(counted_in, points)
    loads = () if plan.objective is None else loads_of((*points, *within), plan.objective)
    kept = capacity(loads)
    if kept is not None and kept.is_confirmed:
        estimates[CAPACITY] = kept.load
    elif kept is not None:
        missing[CAPACITY] = f"the objective is met {kept.words}"
    verdict, reasons = judge(trials, maxima, counted_in, search, processors, shared)
    labels = [steadiness.labels({"maximum": t.runs["maximum"]}) for t in counted_in]
    reasons = (*reasons, *disturbances(counted_in, processors, labels))
    warm = plan.warm_up is None or all_warm(trials, counted_in, plan.warm_up)
    open_ = open_codes(reasons, counted_in, processors, labels, warm)
    rates = [name for name in values if quantity(name).is_bounded]
    least = rates if is_least(open_, estimates.get(SERVER_BUSY)) else []
    summary = CellSummary(
        key=cell.key,
        factors=dict(cell.factors),
        verdict=verdict,
        reasons=reasons,
        trials=len(counted_in),
        estimates={**widened(estimates, counted_in), **times},
        not_measurable=missing,
        lower_bounds=(*least, *({CAPACITY} & set(estimates))),
        left_open=dict.fromkeys(rates, open_words(open_)) if open_ else {},
        cpu_over_time=cpu_over_time(counted_in, "maximum", len(processors.server) or None),
        backend=backend(trials),
        negotiated=negotiated(trials),
    )
    return CapacityCell(
        cell=cell,
        trials=trials,
        levels=levels,
        search=search,
        summary=summary,
        values=values,
        points=points,
        searched=within,
        capacity=kept,
        shared=shared,
        limit=limit_words(counted_in, processors),
        open=open_,
    )


def _points(
    trials: Sequence[Trial], stage: Stage, processors: Processors, shared: bool
) -> list[Point]:
    """The open loops of a stage."""
    found = (point(t, processors, shared) for t in trials if t.factors["stage"] == stage)
    return [each for each in found if each is not None]


def _values(maxima: Sequence[Trial], processors: Processors) -> dict[str, dict[int, float]]:
    """The values of the trials of the maximum, by estimate and repetition."""
    found: dict[str, dict[int, float]] = {}
    for trial in maxima:
        run = trial.runs["maximum"]
        for name, value in loading_values(run, processors).items():
            found.setdefault(name, {})[int(trial.factors["repetition"])] = value
    return found


def _estimates(values: Mapping[str, Mapping[int, float]], planned: int) -> dict[str, Estimate]:
    """The estimates over the repetitions of the maximum."""
    return {
        name: two_stage_estimate(list(values[name].values()), quantity(name).unit, planned)
        for name in in_order(values)
    }


def _times(
    maxima: Sequence[Trial], points: Sequence[Point]
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Service times at the maximum, and response times at each fraction: `..._at_60`."""
    encoded = [load_histograms(t.runs["maximum"].record).get("service") for t in maxima]
    parts = [Distribution.decode(text) for text in encoded if text]
    found: dict[str, Estimate] = {}
    missing: dict[str, str] = {}
    if any(part.n for part in parts):
        found, missing = quantiles(SERVICE, [part for part in parts if part.n])
    for fraction, group in by_fraction(points).items():
        estimates, reasons = time_estimates(judged(group), RESPONSE)
        found |= {at_load(name, fraction): value for name, value in estimates.items()}
        missing |= {at_load(name, fraction): reason for name, reason in reasons.items()}
    return found, missing
