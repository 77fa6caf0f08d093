"""The time from one trial's start to the next one's. Pure."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

from tlslab.domain.instant import instant
from tlslab.domain.trial import Trial

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
