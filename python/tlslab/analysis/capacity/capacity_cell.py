"""A cell of a capacity experiment: its trials by stage, and all that is decided about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tlslab.analysis.capacity.points import (
    Capacity,
    LoadPoint,
    by_fraction,
    capacity,
    censored,
    judged,
    point,
    time_estimates,
    user_estimates,
)
from tlslab.analysis.capacity.remedies import Remedy, remedies
from tlslab.analysis.capacity.verdict import Limit, is_of_server, judge
from tlslab.analysis.compare import Measured
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.judged import backend, negotiated
from tlslab.analysis.measures import Processors, loading_values
from tlslab.analysis.processor_use import cpu_over_time
from tlslab.analysis.server_side import widened
from tlslab.analysis.stats.estimate import MOVER, ratio_of, two_stage_estimate
from tlslab.analysis.stats.latency import quantiles
from tlslab.domain.capacity import CapacityPlan, OpenLoopRules, Stage
from tlslab.domain.cell_names import cell_names
from tlslab.domain.distribution import Distribution
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CAPACITY,
    CONNECTIONS,
    RESPONSE,
    SERVER_BUSY,
    SERVICE,
    SHARE,
    at_load,
    in_order,
    quantity,
)
from tlslab.domain.finding import CellSummary
from tlslab.domain.loads import loads_of
from tlslab.domain.open_maxima import UNSTEADY, open_label, open_words
from tlslab.domain.plan import Cell
from tlslab.domain.run import Environment
from tlslab.domain.run_record import load_histograms
from tlslab.domain.search import (
    ConcurrencyLevel,
    Next,
    SearchState,
    pooled,
    search_levels,
    search_state,
)
from tlslab.domain.trial import Trial

# The estimate CAPACITY is of a confirmed load alone; of others the reason is stated.

_UNCONFIRMED = (
    "the highest load that met the objective is not confirmed",
    "no load that could be judged met the objective",
)


@dataclass(frozen=True)
class CapacityCell:
    """The results of one cell.

    `levels`: those of the search. `values`: the trials of the maximum by estimate name and
    repetition. `points`: the open loops at the experiment's fractions; `searched`: those of the
    search within the objective. `capacity`: the highest load that meets the experiment's objective,
    if there is one. `shared`: server and generator share a processor. `open`: codes of the reasons
    that the server's highest rate is not known (verdict.MaximumVerdict). `name`: among the cells of
    a report.
    """

    cell: Cell
    trials: Sequence[Trial]
    levels: tuple[ConcurrencyLevel, ...]
    search: SearchState
    summary: CellSummary
    values: Mapping[str, Mapping[int, float]]
    points: Sequence[LoadPoint]
    searched: Sequence[LoadPoint]
    capacity: Capacity | None
    shared: bool
    limit: Limit
    remedies: tuple[Remedy, ...] = ()
    open: tuple[str, ...] = ()
    name: str = ""

    def of(self, stage: Stage) -> list[Trial]:
        """The done trials of a stage."""
        return [t for t in self.trials if t.factors.get("stage") == stage and t.status == "done"]

    @property
    def loads(self) -> list[LoadPoint]:
        """All open loops."""
        return [*self.points, *self.searched]

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

    @property
    def has_maximum(self) -> bool:
        """Whether the maximum supports a sentence, by the cell's verdict."""
        return self.maximum is not None and self.summary.verdict in ("valid", "at_least")

    @property
    def is_enough(self) -> bool:
        """Whether the maximum has enough repetitions for a sentence."""
        return self.maximum is not None and self.maximum.n >= FEWEST

    @property
    def is_steady(self) -> bool:
        """Whether the rate of the maximum was steady."""
        return UNSTEADY not in self.open

    @property
    def is_bound(self) -> bool:
        """Whether the maximum is a lower bound. A rate that was not steady is none."""
        return self.summary.verdict == "at_least" and self.is_steady

    @property
    def open_label(self) -> str:
        """`not steady` or several; empty for a lower bound, and where nothing is open."""
        return "" if self.is_bound else open_label(self.open)

    @property
    def is_comparable(self) -> bool:
        """Whether the maximum is the server's limit, so that a ratio may use it."""
        busy = self.summary.estimates.get(SERVER_BUSY)
        return is_of_server(self.open, None if busy is None else busy.value)

    @property
    def has_answer(self) -> bool:
        """Whether a sentence may say which load meets the objective.

        By a search, or by enough repetitions at the loads that were offered.
        """
        return self.capacity is not None and (bool(self.searched) or self.capacity.n >= FEWEST)

    @property
    def share(self) -> Estimate | None:
        """The load of the capacity over the maximum; None without either.

        None, too, if the maximum was of a rate that was not steady: the share may then be less or
        more. The load was offered and has no error: the interval is that of the maximum alone. A
        load above the maximum by more than its error has no share: the maximum was measured too
        low.
        """
        if self.capacity is None or self.maximum is None:
            return None
        if not (self.has_maximum and self.is_steady):
            return None
        load = self.capacity.load
        method = f"the load over the maximum; {MOVER}"
        exact = replace(load, low=load.value, high=load.value)
        share = ratio_of(exact, self.maximum, SHARE, method)
        if (share.value if share.low is None else share.low) > 1:
            return None
        high = None if share.high is None else min(1.0, share.high)
        return replace(share, value=min(1.0, share.value), high=high)


def named(cells: Sequence[CapacityCell]) -> list[CapacityCell]:
    """The cells of a report with their names."""
    names = cell_names([cell.factors for cell in cells])
    return [replace(cell, name=name) for cell, name in zip(cells, names, strict=True)]


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
    levels = search_levels(trials)
    search = search_state(levels, plan.search)
    judgement = judge(trials, search, processors, shared, plan.warm_up)
    values = _values(judgement.usable, processors)
    points, within = (
        [p for t in trials if t.factors["stage"] == s and (p := point(t, processors, shared))]
        for s in ("open_loop", "within")
    )
    estimates = {
        name: two_stage_estimate(
            list(values[name].values()), quantity(name).unit, plan.maximum.trials
        )
        for name in in_order(values)
    }
    times, missing, too_low = _times(judgement.usable, points, plan.open_loop)
    loads = () if plan.objective is None else loads_of((*points, *within), plan.objective)
    kept = capacity(loads)
    if kept is not None and kept.is_confirmed:
        estimates[CAPACITY] = kept.load
    elif kept is not None:
        missing[CAPACITY] = _UNCONFIRMED[kept.bound == "below"]
    busy = estimates.get(SERVER_BUSY)
    of_server = is_of_server(judgement.open, None if busy is None else busy.value)
    rates = [name for name in values if quantity(name).is_bounded]
    least = [] if of_server or UNSTEADY in judgement.open else rates
    summary = CellSummary(
        key=cell.key,
        factors=dict(cell.factors),
        verdict=judgement.verdict,
        reasons=judgement.reasons,
        trials=len(judgement.usable),
        estimates={**widened(estimates, judgement.usable), **times},
        not_measurable=missing,
        lower_bounds=(*least, *({CAPACITY} & set(estimates)), *too_low),
        left_open=dict.fromkeys(rates, open_words(judgement.open)) if judgement.open else {},
        cpu_over_time=cpu_over_time(judgement.usable, "maximum", len(processors.server) or None),
        backend=backend(trials),
        negotiated=negotiated(trials),
    )
    measured = CapacityCell(
        cell=cell,
        trials=trials,
        levels=pooled(levels),
        search=search,
        summary=summary,
        values=values,
        points=points,
        searched=within,
        capacity=kept,
        shared=shared,
        limit=judgement.limit,
        open=judgement.open,
    )
    return replace(measured, remedies=remedies(measured.of("remedy")))


def _values(maxima: Sequence[Trial], processors: Processors) -> dict[str, dict[int, float]]:
    """The values of the trials of the maximum, by estimate and repetition."""
    values: dict[str, dict[int, float]] = {}
    for trial in maxima:
        for name, value in loading_values(trial.runs["maximum"], processors).items():
            values.setdefault(name, {})[int(trial.factors["repetition"])] = value
    return values


def _times(
    maxima: Sequence[Trial], points: Sequence[LoadPoint], rules: OpenLoopRules
) -> tuple[dict[str, Estimate], dict[str, str], list[str]]:
    """Service times at the maximum, response times and users at each fraction: `..._at_60`.

    Also the reasons for what is not measurable, and the names of those that are lower bounds.
    """
    encoded = [load_histograms(t.runs["maximum"].record).get("service") for t in maxima]
    parts = [part for text in encoded if text and (part := Distribution.decode(text)).n]
    estimates, missing = quantiles(SERVICE, parts) if parts else ({}, {})
    too_low: list[str] = []
    for fraction, group in by_fraction(points).items():
        of_load, reasons = time_estimates(judged(group), RESPONSE)
        of_load |= (users := user_estimates(judged(group), rules.is_steady))
        unsteady = set(users) if not rules.is_steady else set()
        bounds = unsteady | ({*censored(judged(group))} & set(of_load))
        too_low += [at_load(name, fraction) for name in of_load if name in bounds]
        estimates |= {at_load(name, fraction): value for name, value in of_load.items()}
        missing |= {at_load(name, fraction): reason for name, reason in reasons.items()}
    return estimates, missing, too_low
