"""Experiments cut down until they only show that a command works, by TLSLAB_SHORT_RUNS=1.

Nothing measured in so short a time means anything; the tests of the documentation run every
command that it shows in this way.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tlslab.model.benchmark import BenchmarkSettings
from tlslab.model.capacity import CapacityPlan
from tlslab.model.experiment import Experiment, Factor
from tlslab.model.workload import NO_WINDOW, Window

VARIABLE = "TLSLAB_SHORT_RUNS"

# Levels of those factors that still vary, and how many do; a baseline is always a level.
LEVELS = 2
VARYING = 2

WARMUP_MS = 50
MEASURE_MS = 200

# The repetitions of a capacity experiment, and the connections up to which it searches its maximum.
TRIALS = 1
SEARCH_UP_TO = 16
IN_FLIGHT = 200


def asked_for(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether runs are to be short."""
    return environment.get(VARIABLE, "") not in ("", "0")


def shortened(experiment: Experiment) -> Experiment:
    """The experiment with one block, two levels of two factors and the shortest of windows."""
    work = experiment.workload
    varying = _varying(experiment)
    keep_alive = work.keep_alive and replace(work.keep_alive, window=_short(work.keep_alive.window))
    return replace(
        experiment,
        title=f"{experiment.title} (cut short by {VARIABLE}: its figures mean nothing)",
        blocks=1,
        factors=tuple(
            _fewer(factor, experiment, LEVELS if factor.name in varying else 1)
            for factor in experiment.factors
        ),
        workload=replace(
            work,
            capacity=_short(work.capacity),
            client_cost=_short(work.client_cost),
            keep_alive=keep_alive,
        ),
        settings=_settings(experiment.settings),
    )


def _short(window: Window) -> Window:
    if window == NO_WINDOW:
        return window
    return Window(min(window.warmup_ms, WARMUP_MS), min(window.measure_ms, MEASURE_MS))


def _varying(experiment: Experiment) -> set[str]:
    """The factors that go on to vary: those that are compared with a baseline come first."""
    several = [factor.name for factor in experiment.factors if len(factor.levels) > 1]
    return set(sorted(several, key=lambda name: name not in experiment.baseline)[:VARYING])


def _fewer(factor: Factor, experiment: Experiment, most: int) -> Factor:
    needed = [experiment.baseline.get(factor.name)]
    needed += [each.otherwise for each in experiment.only if each.factor == factor.name]
    levels = [level for level in factor.levels if level in needed]
    others = [level for level in factor.levels if level not in needed]
    kept = {*levels, *others[: max(0, most - len(levels))]}
    return Factor(factor.name, tuple(level for level in factor.levels if level in kept))


def _settings(settings: Any) -> Any:
    if isinstance(settings, BenchmarkSettings):
        return _benchmark(settings)
    return _load(settings) if isinstance(settings, CapacityPlan) else settings


def _benchmark(settings: BenchmarkSettings) -> BenchmarkSettings:
    return replace(
        settings,
        modes=settings.modes[-1:],
        warmup_iterations=1,
        warmup_ms=min(settings.warmup_ms, MEASURE_MS),
        iterations=1,
        iteration_ms=min(settings.iteration_ms, MEASURE_MS),
        faults=None,
    )


def _load(load: CapacityPlan) -> CapacityPlan:
    search, maximum, open_loop = load.search, load.maximum, load.open_loop
    first = min(search.first, SEARCH_UP_TO)
    changes: dict[str, Any] = {
        "search": replace(
            search,
            first=first,
            most=min(search.most, SEARCH_UP_TO),
            window=_short(search.window),
            repeats=1,
        ),
        "maximum": replace(maximum, trials=TRIALS, most=TRIALS, window=_short(maximum.window)),
        "open_loop": replace(
            open_loop,
            fractions=open_loop.fractions[:LEVELS],
            trials=TRIALS,
            connections=min(open_loop.connections, IN_FLIGHT),
            window=_short(open_loop.window),
        ),
        "fresh_server": False,
    }
    if load.warm_up is not None:
        rules = load.warm_up
        steady = min(rules.steady, 2)
        changes["warm_up"] = replace(rules, steady=steady, most=steady, window=_short(rules.window))
    if load.remedies is not None:
        changes["remedies"] = replace(
            load.remedies,
            resume_ratios=load.remedies.resume_ratios[:LEVELS],
            requests_per_connection=load.remedies.requests_per_connection[:LEVELS],
            trials=TRIALS,
            window=_short(load.remedies.window),
        )
    if load.validation is not None:
        rules_ = load.validation
        changes["validation"] = replace(
            rules_, fractions=rules_.fractions[:1], window=_short(rules_.window)
        )
    return replace(load, **changes)
