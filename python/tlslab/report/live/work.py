"""The progress of a run, and the time that the rest takes."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from tlslab.domain.events import Left, RunStarted

# From this number of trials on, their own time is a better estimate than the planned one.
_ENOUGH = 3


@dataclass(frozen=True)
class Done:
    """Finished and planned trials or steps; `at_most`: there may be fewer."""

    done: int
    planned: int
    at_most: bool = False


class TrialsLeft:
    """Estimates the time left from the trials done so far."""

    def __init__(self, begun: RunStarted, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self._planned = begun.seconds_per_trial
        self._at_most = begun.at_least is not None
        self.total = len(begun.plan.trials)
        self.first = begun.done
        self.done = begun.done

    def seconds(self) -> float:
        """The time left, in seconds."""
        here = self.done - self.first
        each = (self._clock() - self._start) / here if here >= _ENOUGH else self._planned
        return each * (self.total - self.done)

    def progress(self) -> Done:
        """The progress in trials."""
        return Done(self.done, self.total, self._at_most)


def steps_progress(left: Left) -> Done:
    """The progress in steps of a capacity experiment."""
    return Done(left.done, left.done + left.steps, at_most=True)
