"""The spread from run to run of one machine, which two runs' own intervals do not contain. Pure.

Two runs are made one after the other. What else uses the machine (its neighbours, its clock) may be
constant for the length of a run and another in the next one: the blocks of a run then agree better
with each other than with those of another run. A difference of two runs has to exceed this, too.

How much a run may be off as a whole is taken from the self-test of the machine, whose tries are
short runs one after the other; it counts more if the blocks of the run differ more than those of
the self-test did. Without a self-test a whole run is taken to be off by as much as one of its
blocks.
"""

import math
from dataclasses import replace

from tlslab.analysis.overlay.pairs import Side
from tlslab.analysis.stats import sequence
from tlslab.analysis.stats.estimate import CONFIDENCE, SEQUENCE, Spread, log_spread
from tlslab.domain.estimate import Estimate
from tlslab.domain.selftest import Ability

BY_SELFTEST = "the spread from run to run by the self-test"
BY_BLOCKS = "the spread from run to run by that of the blocks"


def selftests_know(first: Side, second: Side, name: str) -> bool:
    """Whether the self-tests of both runs' machines have the spread of an estimate."""
    return all(_ability(side, name) is not None for side in (first, second))


def as_of_any_run(side: Side, name: str, found: Estimate, by_selftest: bool) -> Estimate:
    """The estimate with an interval that contains the spread from run to run.

    `by_selftest`: that of the self-test, or else of the blocks. Unchanged without an interval.
    """
    spread = log_spread(found)
    if spread is None or found.low is None or found.high is None:
        return found
    block = _of_a_block(found, spread)
    whole = block
    ability = _ability(side, name) if by_selftest else None
    if ability is not None:
        assert ability.between is not None
        whole = ability.between
        if ability.within:
            whole *= max(1.0, block / ability.within)
    share = (1 + CONFIDENCE) / 2
    student = Spread(whole, found.n - 1).quantile(share)
    half = math.hypot(spread.quantile(share) * spread.error, student * whole)
    return replace(found, low=found.value * math.exp(-half), high=found.value * math.exp(half))


def _of_a_block(found: Estimate, spread: Spread) -> float:
    """The standard deviation of a block's logarithm, from the interval of their mean."""
    if found.method.startswith(SEQUENCE):
        unit = sequence.half_width(found.n, 1.0, 1 - CONFIDENCE)
        if unit is not None:
            return spread.error * spread.quantile((1 + CONFIDENCE) / 2) / unit
    return spread.error * math.sqrt(found.n)


def _ability(side: Side, name: str) -> Ability | None:
    """The self-test's result by this estimate, if it has the spread of its tries."""
    kept = side.summary.environment.selftest
    found = () if kept is None else kept.by
    return next((a for a in found if a.estimate == name and a.between is not None), None)
