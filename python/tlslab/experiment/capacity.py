"""The kind `capacity`: [workload], and [capacity] with a table for each stage."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from tlslab.domain.capacity import (
    CONFIRMING,
    CapacityPlan,
    MaximumRules,
    Objective,
    Obsolete,
    OpenLoopRules,
    Remedies,
    SearchRules,
    ValidationRules,
    WarmUpRules,
    WithinRules,
    parse_objective,
    plan_of,
)
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.factors import COMMON, RESUMPTIONS
from tlslab.domain.names import OBSOLETE_KEYS, OBSOLETE_SUITES, OBSOLETE_TLS_VERSIONS
from tlslab.domain.workload import Window
from tlslab.experiment.file_kinds import FileKind
from tlslab.experiment.short import LEVELS, short, with_length
from tlslab.experiment.workload import (
    LIMIT_CONNECTIONS,
    LIMIT_WINDOW_MS,
    read_workload,
    write_window,
    write_workload,
)
from tlslab.toml_table import Table, toml

T = TypeVar("T")

LIMIT_TRIALS = 100
LIMIT_FRACTION = 5.0
LIMIT_REQUESTS = 1_000_000
LIMIT_RETRIES = 10  # As in the engine.
LIMIT_DELAY_MS = 1000
ARRIVALS = ("constant", "poisson")

OBJECTIVE_FORM = "must have the form p99<50ms, with p50, p90, p95, p99 or mean"

_WINDOW = ("warmup_ms", "measure_ms")

_KEYS: Mapping[str, tuple[str, ...]] = {
    "search": ("first", "most", "growth", "step", "repeats", *_WINDOW),
    "maximum": ("trials", "most", "width", *_WINDOW),
    "open_loop": (
        "fractions", "trials", "connections", "arrivals", "patience_ms", "retries", *_WINDOW,
    ),
    "warm_up": ("connections", "most", "steady", "width", *_WINDOW),
    "remedies": (
        "resume", "resume_ratios", "requests_per_connection", "trials", "when", *_WINDOW,
    ),
    "validation": ("fractions", "when", "delay_ms", *_WINDOW),
    "within": ("most", *_WINDOW),
    "obsolete": ("levels",),
}  # fmt: skip


def _plan(root: Table, changes: Table) -> CapacityPlan:
    base = root.table("capacity")
    changed = changes.table("capacity") if "capacity" in changes else base
    for table in (base, changed):
        table.only("objective", "fresh_server", *_KEYS)
    top = changed.over(base)

    def needed(name: str) -> Table:
        table = top.table(name)
        if name in base and name in changed:
            table = changed.table(name).over(base.table(name))
        table.only(*_KEYS[name])
        return table

    def optional(name: str, read: Callable[[Table], T]) -> T | None:
        return read(needed(name)) if name in top else None

    return CapacityPlan(
        search=_search(needed("search")),
        maximum=_maximum(needed("maximum")),
        open_loop=_open_loop(needed("open_loop")),
        warm_up=optional("warm_up", _warm_up),
        remedies=optional("remedies", _remedies),
        validation=optional("validation", _validation),
        within=optional("within", _within),
        obsolete=optional("obsolete", _obsolete),
        objective=_objective(top) if "objective" in top else None,
        fresh_server=top.truth("fresh_server") if "fresh_server" in top else True,
    )


def _window(table: Table) -> Window:
    """A window whose keys are among those of its stage."""
    return Window(
        warmup_ms=table.integer("warmup_ms", 0, LIMIT_WINDOW_MS),
        measure_ms=table.integer("measure_ms", 100, LIMIT_WINDOW_MS),
    )


def _search(table: Table) -> SearchRules:
    first = table.integer("first", 1, LIMIT_CONNECTIONS)
    return SearchRules(
        first=first,
        most=table.integer("most", first, LIMIT_CONNECTIONS),
        window=_window(table),
        growth=table.number("growth", 1.1, 100) if "growth" in table else 2.0,
        step=table.number("step", 0.001, 0.5) if "step" in table else 0.05,
        repeats=table.integer("repeats", 1, LIMIT_TRIALS) if "repeats" in table else 3,
    )


def _maximum(table: Table) -> MaximumRules:
    trials = table.integer("trials", 1, LIMIT_TRIALS)
    return MaximumRules(
        trials=trials,
        most=table.integer("most", trials, LIMIT_TRIALS) if "most" in table else trials,
        window=_window(table),
        width=table.number("width", 0.001, 10) if "width" in table else 0.05,
    )


def _open_loop(table: Table) -> OpenLoopRules:
    arrivals = table.text("arrivals") if "arrivals" in table else "poisson"
    if arrivals not in ARRIVALS:
        raise table.error(f"must be one of {', '.join(ARRIVALS)}", "arrivals")
    patience_ms = (
        table.integer("patience_ms", 1, LIMIT_WINDOW_MS) if "patience_ms" in table else None
    )
    retries = table.integer("retries", 0, LIMIT_RETRIES) if "retries" in table else 0
    if retries and patience_ms is None:
        raise table.error("needs patience_ms", "retries")
    return OpenLoopRules(
        fractions=table.numbers("fractions", 0.001, LIMIT_FRACTION),
        trials=table.integer("trials", 1, LIMIT_TRIALS),
        connections=table.integer("connections", 1, LIMIT_CONNECTIONS),
        window=_window(table),
        arrivals=arrivals,
        patience_ms=patience_ms,
        retries=retries,
    )


def _warm_up(table: Table) -> WarmUpRules:
    return WarmUpRules(
        connections=table.integer("connections", 1, LIMIT_CONNECTIONS),
        most=table.integer("most", 1, 10_000),
        window=_window(table),
        steady=table.integer("steady", 1, LIMIT_TRIALS) if "steady" in table else 3,
        width=table.number("width", 0, 1) if "width" in table else 0.05,
    )


def _remedies(table: Table) -> Remedies:
    resume = table.text("resume")
    if resume not in RESUMPTIONS[1:]:
        raise table.error(f"must be one of {', '.join(RESUMPTIONS[1:])}", "resume")
    requests = table.numbers("requests_per_connection", 1, LIMIT_REQUESTS)
    if any(number != int(number) for number in requests):
        raise table.error("must be whole numbers", "requests_per_connection")
    return Remedies(
        resume=resume,
        resume_ratios=table.numbers("resume_ratios", 0, 1),
        requests_per_connection=tuple(int(number) for number in requests),
        trials=table.integer("trials", 1, LIMIT_TRIALS),
        window=_window(table),
        when=_levels(table, "when") if "when" in table else {},
    )


def _validation(table: Table) -> ValidationRules:
    return ValidationRules(
        fractions=table.numbers("fractions", 0.001, 1),
        window=_window(table),
        delay_ms=table.integer("delay_ms", 0, LIMIT_DELAY_MS) if "delay_ms" in table else 0,
        when=_levels(table, "when") if "when" in table else {},
    )


def _within(table: Table) -> WithinRules:
    return WithinRules(
        most=table.integer("most", CONFIRMING + 1, LIMIT_TRIALS), window=_window(table)
    )


def _levels(table: Table, key: str) -> dict[str, str]:
    levels = table.table(key)
    levels.only(*COMMON)
    return {name: levels.text(name) for name in levels.data}


def _obsolete(table: Table) -> Obsolete:
    """The levels of one cell, which may be obsolete."""
    levels = _levels(table, "levels")
    more = {"tls": OBSOLETE_TLS_VERSIONS, "key": OBSOLETE_KEYS, "suite": OBSOLETE_SUITES}
    for name, level in levels.items():
        if COMMON[name].rule.level(level) is None and level not in more.get(name, ()):
            allowed = ", ".join(filter(None, (COMMON[name].rule.allowed, *more.get(name, ()))))
            raise table.table("levels").error(f"unknown name '{level}'; known: {allowed}", name)
    return Obsolete(levels)


def _objective(table: Table) -> Objective:
    objective = parse_objective(table.text("objective"))
    if objective is None:
        raise table.error(OBJECTIVE_FORM, "objective")
    return objective


def required_objective(text: str) -> Objective:
    """The value of `--objective`. Raises UsageError."""
    objective = parse_objective(text)
    if objective is None:
        raise UsageError(f"--objective {text}: {OBJECTIVE_FORM}")
    return objective


class CapacityFile(FileKind):
    """Each cell goes through the stages of a `CapacityPlan`."""

    tables = ("workload", "capacity")
    factors = COMMON
    why_fixed = "search and maximum end by rules of their own ([capacity.maximum] width)"

    def read(self, root: Table, changes: Table) -> Mapping[str, Any]:
        """The workload and the stages."""
        workload = read_workload(root, changes, windows=False)
        return {"workload": workload, "settings": _plan(root, changes)}

    def write(self, experiment: Experiment) -> list[str]:
        """The tables [workload] and [capacity]."""
        plan = plan_of(experiment)
        lines = [*write_workload(experiment.workload), "", "[capacity]"]
        if plan.objective is not None:
            lines.append(f"objective = {toml(str(plan.objective))}")
        lines.append(f"fresh_server = {toml(plan.fresh_server)}")
        for name in _KEYS:
            stage = getattr(plan, name)
            if stage is not None:
                lines += ["", f"[capacity.{name}]", *_stage(stage)]
        return lines

    def shortened(self, settings: CapacityPlan) -> CapacityPlan:
        """Few levels, one repetition, the shortest windows."""
        return _shortened(settings)

    def with_blocks(self, experiment: Experiment, blocks: int) -> Experiment:
        """The experiment with its measuring stages repeated N times."""
        plan = _with_blocks(plan_of(experiment), blocks)
        return replace(experiment, settings=plan)

    def with_seconds(self, experiment: Experiment, seconds: float) -> Experiment:
        """The experiment with measuring stages of this length."""
        plan = _with_seconds(plan_of(experiment), seconds)
        return replace(experiment, settings=plan)

    def briefly_within(self, experiment: Experiment) -> Experiment:
        """A quick run for an objective alone: one processor, and all time for its search."""
        plan = plan_of(experiment)
        within = None if plan.within is None else replace(plan.within, most=QUICK_WITHIN)
        plan = replace(plan, remedies=None, validation=None, within=within)
        factors = (
            replace(factor, levels=factor.levels[:1]) if factor.name == "processors" else factor
            for factor in experiment.factors
        )
        return replace(experiment, factors=tuple(factors), settings=plan)

    def with_objective(
        self, experiment: Experiment, objective: str | None, allow_obsolete: bool
    ) -> Experiment:
        """The experiment with another objective, without its obsolete cell unless allowed."""
        plan = plan_of(experiment)
        if objective is not None:
            plan = replace(plan, objective=required_objective(objective))
        if not allow_obsolete:
            plan = replace(plan, obsolete=None)
        return replace(experiment, settings=plan)


def _stage(stage: Any) -> Iterator[str]:
    for name, value in vars(stage).items():
        if isinstance(value, Window):
            yield from write_window(value)
        elif value not in (None, {}):
            yield f"{name} = {toml(value)}"


# The runs of the search for an objective that a quick run has the time for: 16 of 3.5 s, longer
# only for an objective above 300 ms.
QUICK_WITHIN = 16

# A shortened experiment: its repetitions, the connections up to which it searches its maximum, and
# the largest number of connections of an open loop.
TRIALS = 1
SEARCH_UP_TO = 16
IN_FLIGHT = 200

# The stages whose windows are measurements rather than searches.
_MEASURED = ("maximum", "open_loop", "remedies")


def _with_blocks(plan: CapacityPlan, blocks: int) -> CapacityPlan:
    """The stages with their measurements repeated N times."""
    changes: dict[str, Any] = {
        "maximum": replace(plan.maximum, trials=blocks, most=max(blocks, plan.maximum.most)),
        "open_loop": replace(plan.open_loop, trials=blocks),
    }
    if plan.remedies is not None:
        changes["remedies"] = replace(plan.remedies, trials=blocks)
    return replace(plan, **changes)


def _with_seconds(plan: CapacityPlan, seconds: float) -> CapacityPlan:
    """The stages with measurements of this length."""
    stages = {name: getattr(plan, name) for name in _MEASURED}
    new = {
        name: replace(stage, window=with_length(stage.window, round(seconds * 1000)))
        for name, stage in stages.items()
        if stage is not None
    }
    return replace(plan, **new)


def _shortened(plan: CapacityPlan) -> CapacityPlan:
    """The stages with the fewest levels and repetitions and the shortest windows."""
    search, maximum, open_loop = plan.search, plan.maximum, plan.open_loop
    first = min(search.first, SEARCH_UP_TO)
    changes: dict[str, Any] = {
        "search": replace(
            search,
            first=first,
            most=min(search.most, SEARCH_UP_TO),
            window=short(search.window),
            repeats=1,
        ),
        "maximum": replace(maximum, trials=TRIALS, most=TRIALS, window=short(maximum.window)),
        "open_loop": replace(
            open_loop,
            fractions=open_loop.fractions[:LEVELS],
            trials=TRIALS,
            connections=min(open_loop.connections, IN_FLIGHT),
            window=short(open_loop.window),
        ),
        "fresh_server": False,
        # Its windows are as long as the objective asks for.
        "within": None,
    }
    if plan.warm_up is not None:
        rules = plan.warm_up
        steady = min(rules.steady, 2)
        changes["warm_up"] = replace(rules, steady=steady, most=steady, window=short(rules.window))
    if plan.remedies is not None:
        changes["remedies"] = replace(
            plan.remedies,
            resume_ratios=plan.remedies.resume_ratios[:LEVELS],
            requests_per_connection=plan.remedies.requests_per_connection[:LEVELS],
            trials=TRIALS,
            window=short(plan.remedies.window),
        )
    if plan.validation is not None:
        rules_ = plan.validation
        changes["validation"] = replace(
            rules_, fractions=rules_.fractions[:1], window=short(rules_.window)
        )
    return replace(plan, **changes)
