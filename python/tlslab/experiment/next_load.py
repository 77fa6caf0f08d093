"""The search for the highest load that meets an objective: the next load, and how long it is run.

Pure. `domain.loads` judges the loads that were tried.
"""

import math
from collections.abc import Sequence

from tlslab.domain.capacity import CONFIRMING, Objective
from tlslab.domain.loads import (
    BARRING,
    STEP,
    Load,
    bracket,
    is_step_below,
    least_values,
    long_enough_s,
)
from tlslab.domain.workload import Window

# A planned run has this many times the values without which nothing is said of a quantile, if
# VALUES_S are enough for them.
ENOUGH = 10
VALUES_S = 20.0

# The warm-up of a run, as a part of its measurement: an empty server answers too soon.
WARM_UP_PART = 6

# The loads of the search as shares of the maximum, descending, a STEP apart.
FRACTIONS: tuple[float, ...] = tuple(round(STEP ** float(-n), 3) for n in range(-8, 61))
FIRST: float = FRACTIONS[10]


def run_window(objective: Objective, rate: float, least: Window) -> Window:
    """The window of a run at this rate that is to judge an objective; not below `least`."""
    values_s = min(VALUES_S, ENOUGH * least_values(objective) / rate)
    needed_s = max(long_enough_s(objective), values_s)
    measure_ms = max(least.measure_ms, math.ceil(1000 * needed_s))
    return Window(max(least.warmup_ms, measure_ms // WARM_UP_PART), measure_ms)


def next_fraction(loads: Sequence[Load], left: int) -> float | None:
    """The fraction of the maximum at which to run next; None if nothing is left to do.

    `left` further runs may be made: the last ones confirm the highest load that met the objective.
    The search steps away from the maximum by ever more, then halves what lies between.
    """
    barred = [each.fraction for each in loads if each.outcome in BARRING]
    top = min(barred, default=math.inf)
    found = bracket(loads)
    best = found.best
    low = 0.0 if best is None else best.fraction
    inside = [fraction for fraction in FRACTIONS if low < fraction < top]
    if left <= 0 or (best is None and not inside):
        return None
    if best is None:
        return inside[min(len(inside), max(2, _steps_down(top))) - 1] if barred else FIRST
    lacking = max(0, CONFIRMING - best.runs) + (found.own is None)
    if not inside or left <= lacking:
        return _confirming(best, found.own)
    if barred:
        return inside[len(inside) // 2]
    if best.fraction < FIRST:
        return FIRST
    climbed = sum(each.outcome == "met" and each.fraction >= FIRST for each in loads)
    return inside[-min(len(inside), 1 << max(0, climbed - 1))]


def _steps_down(fraction: float) -> int:
    """The steps from the maximum down to a fraction of it."""
    return round(-math.log(fraction) / math.log(STEP))


def _confirming(best: Load, own: Load | None) -> float | None:
    """The next run that confirms an answer a step below the highest load that met the objective."""
    if best.runs < CONFIRMING:
        return best.fraction
    if own is not None:
        return None
    return next((f for f in FRACTIONS if is_step_below(f, best.fraction)), None)
