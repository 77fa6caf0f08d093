"""Experiments shortened by TLSLAB_SHORT_RUNS=1, which only show that a command works.

The figures of such a run mean nothing; the tests of the documentation run every documented command
in this way.
"""

import os
from collections.abc import Mapping
from dataclasses import replace

from tlslab.domain.experiment import Design, Experiment, Factor
from tlslab.domain.workload import NO_WINDOW, Window
from tlslab.experiment.file_kinds import FileKind

VARIABLE = "TLSLAB_SHORT_RUNS"

# The number of levels of factors that still vary, and the number of such factors; a baseline is
# always a level.
LEVELS = 2
VARYING = 2

# The largest number of blocks that an option gives such a run: the least that the job of docs/ci
# takes.
BLOCKS = 6

WARMUP_MS = 50
MEASURE_MS = 200


def asked_for(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether runs are to be short."""
    return environment.get(VARIABLE, "") not in ("", "0")


def shortened(experiment: Experiment, kind: FileKind) -> Experiment:
    """The experiment with one block, two levels of two factors and the shortest of windows."""
    work = experiment.workload
    varying = _varying(experiment, kind.always_vary)
    keep_alive = work.keep_alive and replace(work.keep_alive, window=short(work.keep_alive.window))
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
            capacity=short(work.capacity),
            client_cost=short(work.client_cost),
            keep_alive=keep_alive,
        ),
        settings=kind.shortened(experiment.settings),
        design=experiment.design and Design((), experiment.design.held_out[:1]),
    )


def few(blocks: int) -> int:
    """The number of blocks that an option requests, at most BLOCKS if runs are to be short."""
    return min(blocks, BLOCKS) if asked_for() else blocks


def warmed_up(length_ms: int) -> int:
    """The warm-up of a fresh server, in milliseconds."""
    return min(length_ms, WARMUP_MS) if asked_for() else length_ms


def short(window: Window) -> Window:
    """The window, shortened; an absent window stays absent."""
    if window == NO_WINDOW:
        return window
    return Window(min(window.warmup_ms, WARMUP_MS), min(window.measure_ms, MEASURE_MS))


def with_length(window: Window, measure_ms: int) -> Window:
    """The window with another length of its measurement; an absent window stays absent."""
    return window if window == NO_WINDOW else replace(window, measure_ms=measure_ms, count=0)


def _varying(experiment: Experiment, always: tuple[str, ...]) -> set[str]:
    """The factors that still vary: those compared with a baseline come first."""
    several = [factor.name for factor in experiment.factors if len(factor.levels) > 1]
    if always:
        return set(several) & set(always)
    return set(sorted(several, key=lambda name: name not in experiment.baseline)[:VARYING])


def _fewer(factor: Factor, experiment: Experiment, most: int) -> Factor:
    needed = [experiment.baseline.get(factor.name)]
    needed += [each.otherwise for each in experiment.only if each.factor == factor.name]
    levels = [level for level in factor.levels if level in needed]
    others = [level for level in factor.levels if level not in needed]
    kept = {*levels, *others[: max(0, most - len(levels))]}
    return Factor(factor.name, tuple(level for level in factor.levels if level in kept))
