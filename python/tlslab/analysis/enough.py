"""Shortcomings of a run that does not answer its question, and what would suffice. Pure."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean, median

import numpy as np

from tlslab.analysis.stats.power import detectable, excludable
from tlslab.domain.command_line import ONE_RUN, without_options
from tlslab.domain.finding import Lacking
from tlslab.domain.run import RunContents, instant
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.trial import Trial

# With fewer blocks or repetitions there is no finding: half of an interval's width would be due to
# their small number.
FEWEST = LEAST_BLOCKS

# The difference that a repeated run should find or exclude, and the number of blocks it may take.
AIM = 0.05
_BLOCKS = 10
_MOST = 60

# More blocks than these are no advice.
MOST = 200

# Intervals that hold after every block need about twice as many blocks as those that hold at the
# end.
_ANYTIME = 2

# Options that belong to a single run, or set its length.
OWN = (*ONE_RUN, "--seed", "--blocks", "--until", "--budget")


def wanted_blocks(noise: Sequence[float]) -> int:
    """The number of blocks that would find or exclude AIM.

    `noise` has logarithms of paired ratios.
    """
    if len(noise) < 2:
        return _BLOCKS
    spread = float(np.std(noise, ddof=1))
    enough = next((n for n in range(FEWEST, _MOST) if detectable(spread, n) <= AIM), _MOST)
    return min(_MOST, max(_BLOCKS, _ANYTIME * enough))


def excluding_blocks(noise: float, margin: float, measures: int = 1) -> int:
    """The number of blocks that exclude a difference of the margin 9 times in 10, MOST at most.

    `noise`: the standard deviation of the logarithms of paired ratios; `measures` as in
    `power.excludable`.
    """
    enough = (n for n in range(FEWEST, MOST) if excludable(noise, n, measures) <= margin)
    return next(enough, MOST)


def again(contents: RunContents, *options: str) -> tuple[str, ...]:
    """The command of the run, with other options for its length."""
    words = without_options(contents.environment.command, OWN)
    return (*words, *options)


def too_few(contents: RunContents, n: int, what: str = "block") -> Lacking:
    """A lack of blocks or repetitions: fewer than FEWEST, and the number that would suffice."""
    return Lacking(
        code="too_few",
        values={"n": n, "what": what, "fewest": FEWEST},
        command=again(contents, "--blocks", str(FEWEST)),
        minutes=minutes(contents, FEWEST / n),
        few=True,
    )


def open_still(contents: RunContents, lacking: Lacking, blocks: int) -> Lacking:
    """A lack of precision of a run in blocks, with its remedy.

    The remedy is --until, which runs until all is settled.
    """
    begun = 1 + max((trial.block for trial in contents.trials), default=0)
    command = again(contents, "--until", f"{AIM:.0%}", "--blocks", str(blocks))
    return replace(lacking, command=command, minutes=minutes(contents, blocks / begun))


def minutes(contents: RunContents, times: float) -> float | None:
    """The minutes that a run takes if it is N `times` as long.

    None if the trials do not show it.
    """
    apart = seconds_apart(contents.trials)
    if apart is None:
        return None
    whole = apart * len(contents.trials)
    # Rounded up to a tenth, so that a run of seconds does not take 0 minutes.
    return math.ceil(whole * times / 6) / 10


# A distance of more than this many usual ones is a pause: the run was interrupted and resumed, or
# the clock was set. The start and the warm-up of a server between two trials take less than
# _LEAST_PAUSE_S seconds.
_PAUSE = 10
_LEAST_PAUSE_S = 120.0


def seconds_apart(trials: Sequence[Trial]) -> float | None:
    """The mean distance between the starts of successive trials, in the order in which they ran.

    Pauses do not count, nor steps of the clock. None if the trials do not show it.
    """
    starts = [instant(trial.started) for trial in trials]
    apart = [(later - earlier).total_seconds() for earlier, later in pairwise(starts)]
    forward = [each for each in apart if each > 0]
    if not forward:
        return None
    longest = max(_LEAST_PAUSE_S, _PAUSE * median(forward))
    return fmean(each for each in forward if each <= longest)
