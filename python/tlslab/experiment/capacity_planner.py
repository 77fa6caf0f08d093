"""The next step of a cell of a capacity experiment.

Pure: only the cell's trials so far decide, so that a resumed run continues at the same step after
reading them again. A failed trial counts as tried.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tlslab.domain.capacity import CapacityPlan, Stage, Step
from tlslab.domain.experiment import matches
from tlslab.domain.loads import LoadRun, load_run, loads_of
from tlslab.domain.plan import Cell
from tlslab.domain.run_faults import usable
from tlslab.domain.search import Inconclusive, Next, SearchState, search_levels, search_state
from tlslab.domain.trial import Trial
from tlslab.domain.two_stage import repetitions
from tlslab.domain.warm_up import warmed
from tlslab.domain.workload import resumption_in
from tlslab.experiment.next_load import next_fraction, run_window

# A cell with this many failed runs is given up.
MOST_FAILURES = 3

# Classes of failures after which a step is not tried again.
FINAL = {"setup_failed"}


@dataclass(frozen=True)
class Progress:
    """The progress of a cell: its trials by stage, the state of its search, its maximum.

    `generators`: the number that made the load of its last searches. `shared`: the generator shares
    a processor with the server.
    """

    trials: Sequence[Trial]
    search: SearchState
    maximum: float | None
    generators: int = 1
    shared: bool = False

    def of(self, stage: Stage) -> list[Trial]:
        """The trials of a stage."""
        return [trial for trial in self.trials if trial.factors.get("stage") == stage]

    @property
    def given_up(self) -> bool:
        """Whether no further steps are to be tried."""
        # A refusal after a step that was done is a failure: the server supports the cell.
        is_supported = any(trial.status == "done" for trial in self.trials)
        refused = [trial for trial in self.trials if trial.status == "unsupported"]
        # A capture that fails says nothing of the server.
        own = [trial for trial in self.trials if trial.factors.get("stage") != "validation"]
        failed = [trial for trial in own if trial.status == "failed"]
        failed += refused if is_supported else []
        classes = {trial.reason.class_ for trial in failed if trial.reason is not None}
        lost = isinstance(self.search, Inconclusive) and self.search.peak is None
        unsupported = bool(refused) and not is_supported
        return lost or unsupported or len(failed) >= MOST_FAILURES or bool(classes & FINAL)


def next_step(
    plan: CapacityPlan,
    cell: Cell,
    seed: int,
    trials: Sequence[Trial],
    here: Sequence[Trial],
    shared: bool = False,
) -> Step | None:
    """The next step of a cell; None if nothing is left.

    `trials` are all trials of the cell. `here` are those on the running server; a server that is
    yet to be started has none and is warmed up first. `shared`: the generator shares a processor
    with the server.
    """
    progress = progress_of(plan, trials, shared)
    if progress.given_up:
        return None
    step = next(_missing(plan, cell, seed, progress), None)
    if step is None:
        return None
    step = warm_up(plan, step, here) or step
    return step if plan.generators.most == 1 else replace(step, generators=_generators(progress))


def _generators(progress: Progress) -> int:
    """The number of generators for the load: as many as the search needed."""
    state = progress.search
    return state.generators if isinstance(state, Next) else progress.generators


def progress_of(plan: CapacityPlan, trials: Sequence[Trial], shared: bool = False) -> Progress:
    """The state of a cell, from its trials."""
    levels = search_levels(trials)
    state = search_state(levels, plan.search, plan.generators)
    rates = maximum_rates(trials)
    maximum = math.exp(np.log(rates).mean()) if rates else None
    used = max((level.generators for level in levels), default=plan.generators.first)
    return Progress(trials, state, maximum, min(used, plan.generators.most), shared)


def maximum_rates(trials: Sequence[Trial]) -> list[float]:
    """Connections/s of each trial of the maximum that counts, by the rule of the analysis."""
    runs = [trial.runs["maximum"].record for trial in trials if usable(trial, "maximum")]
    return [run.outcomes.completed / run.seconds for run in runs]


def warm_up(plan: CapacityPlan, step: Step, here: Sequence[Trial]) -> Step | None:
    """A step that warms the server up before `step`; None if it is warm, or needs no warm-up."""
    rules = plan.warm_up
    if rules is None or warmed(rules, here):
        return None
    return Step(
        stage="warm_up",
        visit=step.visit,
        repetition=len(here),
        connections=rules.connections,
        window=rules.window,
        serves=step.serves,
    )


def _missing(plan: CapacityPlan, cell: Cell, seed: int, progress: Progress) -> Iterator[Step]:
    """All steps that are known to be missing, in their order."""
    if isinstance(progress.search, Next):
        yield Step("search", 0, 0, progress.search.connections, plan.search.window)
        return
    peak = progress.search.peak
    assert peak is not None
    tried = len(progress.of("maximum"))
    if not _maximum_known(plan, progress):
        yield Step("maximum", _visit(plan, tried), tried, peak.connections, plan.maximum.window)
        return
    if progress.maximum is None:
        return
    later = _Later(plan, cell, seed, progress.maximum, peak.connections, tried)
    done = {_identity(trial.factors) for trial in progress.trials}
    yield from (step for step in later.steps() if _identity(step.factors) not in done)
    if (step := _within(plan, progress)) is not None:
        yield step


def _within(plan: CapacityPlan, progress: Progress) -> Step | None:
    """The next step of the search for the highest load that meets the objective; None at its end.

    No load runs twice on a fresh server: the runs that confirm a load are on servers of their own.
    """
    rules, objective, loop = plan.within, plan.objective, plan.open_loop
    tried = progress.of("within")
    if rules is None or objective is None or progress.maximum is None:
        return None
    fraction = next_fraction(loads_of(load_runs(progress), objective), rules.most - len(tried))
    if fraction is None:
        return None
    rate = _rate(progress.maximum, fraction)
    visits = [(int(t.factors["visit"]), t.factors["fraction"] == f"{fraction}") for t in tried]
    others = [int(t.factors["visit"]) for t in progress.trials if t.factors["stage"] != "within"]
    visit, _ = max(visits, default=(max(others) + 1, False))
    visit += (visit, True) in visits
    # The seed of the arrivals follows from the repetition: no two runs of a load have the same.
    repetition = sum(t.factors.get("fraction") == f"{fraction}" for t in progress.trials)
    return Step(
        stage="within",
        visit=_visit(plan, visit),
        repetition=repetition,
        connections=loop.connections,
        window=run_window(objective, rate, rules.window),
        rate=rate,
        fraction=fraction,
        arrivals=loop.arrivals,
    )


def load_runs(progress: Progress) -> list[LoadRun]:
    """The runs of open loops, judged as the analysis judges them."""
    trials = (*progress.of("open_loop"), *progress.of("within"))
    found = (load_run(trial, progress.shared) for trial in trials)
    return [run for run in found if run is not None]


def _rate(maximum: float, fraction: float) -> int:
    """Connections/s at a fraction of the maximum."""
    # A mean of logarithms may differ from a whole number in its last digit.
    return max(1, int(round(maximum * fraction, 6)))


_OWN = ("stage", "repetition", "fraction", "requests_per_connection", "resume_ratio")


def _identity(factors: Mapping[str, str]) -> tuple[str | None, ...]:
    """The factors that distinguish a step from its cell's others, once the maximum is known."""
    return tuple(factors.get(name) for name in _OWN)


def _visit(plan: CapacityPlan, number: int) -> int:
    return number if plan.fresh_server else 0


def _maximum_known(plan: CapacityPlan, progress: Progress) -> bool:
    """Whether the maximum was tried as often as its first trials require, or up to the limit."""
    rules = plan.maximum
    if len(progress.of("maximum")) >= rules.most:
        return True
    rates = maximum_rates(progress.trials)
    if len(rates) < rules.trials:
        return False
    return len(rates) >= repetitions(rates[: rules.trials], rules.width, rules.most)


@dataclass(frozen=True)
class _Later:
    """The steps that follow once the maximum is known: `maximum` in connections/s, at `peak`."""

    plan: CapacityPlan
    cell: Cell
    seed: int
    maximum: float
    peak: int
    visits: int

    def steps(self) -> Iterator[Step]:
        """The steps in order; a cell with obsolete settings has no remedies and no capture."""
        yield from self._open_loops()
        if self.cell.deployment is not None and self.cell.deployment.obsolete:
            return
        yield from self._remedies()
        yield from self._validation()

    def _open_loops(self) -> Iterator[Step]:
        rules = self.plan.open_loop
        for repetition in range(rules.trials):
            drawn = list(rules.fractions)
            random.Random(f"{self.seed} {self.cell.key} {repetition}").shuffle(drawn)
            visit = _visit(self.plan, self.visits + repetition)
            for fraction in drawn:
                yield self._open_loop("open_loop", visit, repetition, fraction)

    def _open_loop(self, stage: Stage, visit: int, repetition: int, fraction: float) -> Step:
        rules = self.plan.open_loop
        return Step(
            stage=stage,
            visit=visit,
            repetition=repetition,
            connections=rules.connections,
            window=rules.window,
            rate=_rate(self.maximum, fraction),
            fraction=fraction,
            arrivals=rules.arrivals,
            patience_ms=rules.patience_ms,
            retries=rules.retries,
        )

    def _remedies(self) -> Iterator[Step]:
        """The steps of both remedies, each with its own visit: resumption needs another setting."""
        rules = self.plan.remedies
        if rules is None or not matches(rules.when, self.cell.factors):
            return
        first = self.visits + self.plan.open_loop.trials
        for repetition in range(rules.trials):
            plain = _visit(self.plan, first + 2 * repetition)
            step = Step("remedy", plain, repetition, self.peak, rules.window)
            for requests in rules.requests_per_connection:
                yield replace(step, requests_per_connection=requests)
            # Never the visit of a server without resumption, even if a cell has only one server.
            resuming = first + 2 * repetition + 1 if self.plan.fresh_server else 1
            for ratio in rules.resume_ratios:
                serves = resumes_by(rules.resume, self.cell)
                yield replace(step, visit=resuming, serves=serves, resume_ratio=ratio)

    def _validation(self) -> Iterator[Step]:
        rules = self.plan.validation
        if rules is None or not matches(rules.when, self.cell.factors):
            return
        after = self.visits + self.plan.open_loop.trials
        if self.plan.remedies is not None:
            after += 2 * self.plan.remedies.trials
        for repetition, fraction in enumerate(rules.fractions):
            step = self._open_loop("validation", _visit(self.plan, after), repetition, fraction)
            # A single validation has no visit of its own if a cell has only one server.
            visit = step.visit if self.plan.fresh_server else 2
            yield replace(
                step,
                visit=visit,
                window=rules.window,
                arrivals="constant",
                patience_ms=None,
                retries=0,
                delay_ms=rules.delay_ms or None,
            )


def resumes_by(resume: str, cell: Cell) -> str:
    """The resumption of a cell's TLS version, if the requested way belongs to another version."""
    return resumption_in(cell.factors.get("tls"), resume)


def left(
    plan: CapacityPlan, cell: Cell, seed: int, trials: Sequence[Trial], shared: bool = False
) -> tuple[int, float]:
    """The largest number of remaining steps, and their windows together in seconds.

    Warm-ups are counted as often as the cell's servers have needed on average so far; for the first
    server, as often as allowed.
    """
    progress = progress_of(plan, trials, shared)
    if progress.given_up:
        return 0, 0.0
    steps = list(_to_come(plan, cell, seed, progress))
    windows = [step.window.seconds for step in steps]
    if plan.warm_up is not None:
        seen = {trial.factors.get("visit") for trial in trials}
        servers = {step.factors["visit"] for step in steps} - seen
        each = len(progress.of("warm_up")) / len(seen) if seen else plan.warm_up.most
        windows += [plan.warm_up.window.seconds] * math.ceil(len(servers) * each)
    return len(windows), sum(windows)


def _to_come(plan: CapacityPlan, cell: Cell, seed: int, progress: Progress) -> Iterator[Step]:
    """The remaining steps, at most, without warm-ups; their rates are not known."""
    tried = len(progress.of("maximum"))
    if isinstance(progress.search, Next):
        connections = progress.search.connections
        searches = max(1, _search_steps(plan) - len(progress.of("search")))
        yield from [Step("search", 0, 0, connections, plan.search.window)] * searches
    else:
        assert progress.search.peak is not None
        connections = progress.search.peak.connections
    more = 0 if _maximum_known(plan, progress) else max(plan.maximum.trials - tried, 1)
    for number in range(tried, tried + more):
        visit = _visit(plan, number)
        yield Step("maximum", visit, number, connections, plan.maximum.window)
    later = _Later(plan, cell, seed, progress.maximum or 1.0, connections, tried + more)
    done = {_identity(trial.factors) for trial in progress.trials}
    yield from (step for step in later.steps() if _identity(step.factors) not in done)
    yield from _within_to_come(plan, progress)


def _within_to_come(plan: CapacityPlan, progress: Progress) -> Iterator[Step]:
    """As many runs within the objective as may follow; their rates are not known."""
    if plan.within is None or plan.objective is None:
        return
    if progress.maximum is not None and _within(plan, progress) is None:
        return
    window = run_window(plan.objective, progress.maximum or math.inf, plan.within.window)
    step = Step("within", 0, 0, plan.open_loop.connections, window)
    yield from [step] * (plan.within.most - len(progress.of("within")))


def _search_steps(plan: CapacityPlan) -> int:
    """The usual number of levels of a search: up to the limit, and two in between."""
    rules = plan.search
    return 3 + max(0, math.ceil(math.log(rules.most / rules.first, rules.growth)))
