"""The search for the concurrency at which a server accepts most new connections per second.

Pure: from the levels tried so far it computes the next level to try, or how the search ended.
Planning follows the search and analysis reports it; equal trials always give equal results.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from tlslab.domain.autoregression import mean_error
from tlslab.domain.capacity import GeneratorRules, SearchRules
from tlslab.domain.run_faults import host_was_lost
from tlslab.domain.run_record import failures, generator_busy, mismatches
from tlslab.domain.trial import Trial, TrialRun
from tlslab.domain.wording import counted, figure, percent

# A worker that is busy for this share of its time has a queue: the worker limits the rate.
GENERATOR_BOUND = 0.95

# A level with a larger share of failed connections does not count.
ERRORS_LIMIT = 0.01

# No level is tried between two levels whose ratio is below this.
NEAR = 1.5

# Rates that differ by less than this share count as equal, however low the noise is.
EQUAL = 0.01

# The number of slices from which a run's noise can be estimated.
MIN_SLICES = 3
LEAST_NOISE = 0.002

InconclusiveReason = Literal[
    "generator_bound", "errors_rise", "still_rising", "noise", "nothing_completed"
]


@dataclass(frozen=True)
class ConcurrencyLevel:
    """The result of one concurrency: connections/s, and the precision.

    `noise`: the relative standard error of `rate`. `errors`: the share of ended connections that
    failed or were unexpected. `generator_busy`: the share of time for which the busiest worker
    computed. `generators`: the number that made the load.
    """

    connections: int
    rate: float
    noise: float
    errors: float = 0.0
    generator_busy: float = 0.0
    runs: int = 1
    generators: int = 1

    @classmethod
    def of(cls, connections: int, run: TrialRun, generators: int = 1) -> "ConcurrencyLevel":
        """The level of one run."""
        record = run.record
        outcomes = record.outcomes
        ended = outcomes.completed + failures(outcomes) + mismatches(outcomes)
        rates = [s.completed / s.seconds for s in record.intervals if s.seconds > 0]
        return cls(
            connections=connections,
            rate=outcomes.completed / record.seconds if record.seconds > 0 else 0.0,
            noise=relative_noise(rates, outcomes.completed),
            errors=(failures(outcomes) + mismatches(outcomes)) / ended if ended else 1.0,
            generator_busy=generator_busy(record),
            generators=generators,
        )

    @property
    def good(self) -> bool:
        """Whether connections completed and almost none failed."""
        return self.rate > 0 and self.errors <= ERRORS_LIMIT

    @property
    def bound(self) -> bool:
        """Whether the generator limited the rate."""
        return self.generator_busy >= GENERATOR_BOUND


@dataclass(frozen=True)
class Next:
    """The search continues with this concurrency and the load of N generators."""

    connections: int
    generators: int = 1


@dataclass(frozen=True)
class Converged:
    """The maximum is at `peak`: more connections do not raise the rate."""

    peak: ConcurrencyLevel


@dataclass(frozen=True)
class Inconclusive:
    """No maximum can be found, and the reason.

    `peak` is the best level so far, None if there is none.
    """

    reason: InconclusiveReason
    message: str
    peak: ConcurrencyLevel | None


SearchState = Next | Converged | Inconclusive


def relative_noise(rates: Sequence[float], completed: int) -> float:
    """The relative standard error of a run's rate, from the rates of its slices.

    Slices that are correlated with their neighbours carry less information than independent ones
    (model.autoregression). For a run with few slices the result is the noise of independent
    arrivals, although arrivals of a closed loop are not independent.
    """
    if len(rates) < MIN_SLICES or sum(rates) <= 0:
        return 1 / math.sqrt(max(completed, 1))
    return max(LEAST_NOISE, mean_error(rates) * len(rates) / sum(rates))


def pooled(levels: Iterable[ConcurrencyLevel]) -> tuple[ConcurrencyLevel, ...]:
    """One level for each concurrency, ascending."""
    ordered = sorted(levels, key=lambda level: level.connections)
    groups = (tuple(group) for _, group in groupby(ordered, key=lambda level: level.connections))
    return tuple(group[0] if len(group) == 1 else _pool(group) for group in groups)


def _pool(group: Sequence[ConcurrencyLevel]) -> ConcurrencyLevel:
    runs = sum(level.runs for level in group)
    return ConcurrencyLevel(
        connections=group[0].connections,
        rate=sum(level.rate for level in group) / len(group),
        noise=math.sqrt(sum(level.noise**2 for level in group)) / len(group),
        errors=sum(level.errors for level in group) / len(group),
        generator_busy=max(level.generator_busy for level in group),
        runs=runs,
        generators=max(level.generators for level in group),
    )


def search_levels(trials: Iterable[Trial]) -> list[ConcurrencyLevel]:
    """The levels of a cell's search; a failed run is a level without a rate.

    A run with a lost generator says nothing about the server and is repeated.
    """
    searched = (trial for trial in trials if trial.factors.get("stage") == "search")
    return [_level(trial) for trial in searched if not host_was_lost(trial)]


def _level(trial: Trial) -> ConcurrencyLevel:
    connections = int(trial.factors["connections"])
    generators = int(trial.factors.get("generators", 1))
    run = trial.runs.get("search")
    if run is None:
        return ConcurrencyLevel(connections, 0.0, 1.0, errors=1.0, generators=generators)
    return ConcurrencyLevel.of(connections, run, generators)


def search_state(
    tried: Iterable[ConcurrencyLevel], rules: SearchRules, generators: GeneratorRules | None = None
) -> SearchState:
    """The state of the search after these runs; `generators`: the limits on their number.

    If the generators limit the best rate, the search continues with twice as many, and levels that
    fewer generators could not reach are ignored.
    """
    levels = tuple(tried)
    there = generators or GeneratorRules()
    used = max((level.generators for level in levels), default=there.first)
    counted_in = [level for level in levels if not level.bound or level.generators == used]
    state = _state(pooled(counted_in), rules)
    if isinstance(state, Next):
        return replace(state, generators=min(used, there.most))
    is_bound = isinstance(state, Inconclusive) and state.reason == "generator_bound"
    if is_bound and state.peak is not None and used < there.most:
        return Next(state.peak.connections, min(there.most, 2 * used))
    return state


def _state(levels: Sequence[ConcurrencyLevel], rules: SearchRules) -> SearchState:
    if not levels:
        return Next(rules.first)
    good = [level for level in levels if level.good]
    if not good:
        return _nothing_good(levels)
    best = max(good, key=lambda level: level.rate)
    if best.bound:
        share = percent(min(1.0, best.generator_busy))
        who = "the generator was" if best.generators == 1 else f"{best.generators} generators were"
        return Inconclusive("generator_bound", f"{who} {share} busy and set the rate", best)
    growing = _grow(levels, good, best, rules)
    if growing is not None:
        return growing
    peak = least_of_the_best(good, best, rules.step)
    refined = _refine(levels, best, peak, rules.step)
    return refined or _conclude(best, peak, rules)


def _nothing_good(levels: Sequence[ConcurrencyLevel]) -> SearchState:
    least = levels[0]
    if least.connections > 1:
        return Next(max(1, least.connections // 4))
    if least.rate > 0:
        share = percent(least.errors)
        return Inconclusive("errors_rise", f"{share} of single connections failed", None)
    return Inconclusive(
        "nothing_completed", "not even one connection at a time was completed", None
    )


def _grow(
    levels: Sequence[ConcurrencyLevel],
    good: Sequence[ConcurrencyLevel],
    best: ConcurrencyLevel,
    rules: SearchRules,
) -> Next | Inconclusive | None:
    """A concurrency beyond the best level, until one is clearly worse or two bring nothing."""
    beyond = [level for level in good if level.connections > best.connections]
    if len(beyond) >= 2 or any(level.rate < best.rate * (1 - rules.step) for level in beyond):
        return None
    failing = [level for level in levels if not level.good]
    worse = [level for level in failing if level.connections > best.connections]
    if worse:
        top = max(level.connections for level in good)
        middle = between(top, worse[0].connections)
        if middle is not None:
            return Next(middle)
        if not _rises(good, best, rules.step):
            return None
        message = (
            f"{percent(worse[0].errors)} of the connections failed with "
            f"{worse[0].connections} at once, while the rate still rose"
        )
        return Inconclusive("errors_rise", message, best)
    top = levels[-1].connections
    if top < rules.most:
        return Next(min(rules.most, max(top + 1, math.ceil(top * rules.growth))))
    if beyond or not _rises(good, best, rules.step):
        return None
    message = f"the rate still rose at {counted(top, 'connection')}, the limit of the search"
    if len(good) == 1:
        message = f"only {counted(best.connections, 'connection')} at once could be judged"
    return Inconclusive("still_rising", message, best)


def _rises(good: Sequence[ConcurrencyLevel], best: ConcurrencyLevel, step: float) -> bool:
    """Whether the best level is clearly better than the one before it."""
    below = [level for level in good if level.connections < best.connections]
    return not below or best.rate > below[-1].rate * (1 + step)


def least_of_the_best(
    good: Sequence[ConcurrencyLevel], best: ConcurrencyLevel, step: float
) -> ConcurrencyLevel:
    """The lowest concurrency that reaches the best rate, as far as the noise allows."""
    return next(level for level in good if _equal(level, best, step))


def _equal(level: ConcurrencyLevel, best: ConcurrencyLevel, step: float) -> bool:
    noise = 2 * math.hypot(level.noise, best.noise)
    return level.rate >= best.rate * (1 - min(step, max(EQUAL, noise)))


def _refine(
    levels: Sequence[ConcurrencyLevel], best: ConcurrencyLevel, peak: ConcurrencyLevel, step: float
) -> Next | None:
    """A level at the geometric mean of the best one and a worse neighbour, if the gap is wide."""
    below = [level for level in levels if level.connections < peak.connections]
    above = [level for level in levels if level.connections > best.connections]
    if below and (middle := between(below[-1].connections, peak.connections)):
        return Next(middle)
    falls = bool(above) and above[0].rate < best.rate * (1 - step)
    if peak is best and falls and (middle := between(best.connections, above[0].connections)):
        return Next(middle)
    return None


def between(low: int, high: int) -> int | None:
    """The geometric mean of two concurrencies; None if they are close."""
    middle = round(math.sqrt(low * high))
    return middle if high / low > NEAR and low < middle < high else None


def _conclude(best: ConcurrencyLevel, peak: ConcurrencyLevel, rules: SearchRules) -> SearchState:
    """Converged, unless the noise could hide a step; a noisy level is tried again first."""
    blur = 2 * math.sqrt(2) * best.noise
    if blur <= rules.step:
        return Converged(peak)
    if best.runs < rules.repeats:
        return Next(best.connections)
    message = (
        f"the noise of the rate ({percent(blur)} of {figure(best.rate)}/s after "
        f"{counted(best.runs, 'run')}) hides a step of {percent(rules.step)}"
    )
    return Inconclusive("noise", message, best)
