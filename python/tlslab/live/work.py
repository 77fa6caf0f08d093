"""How much of a run is done, and how long the rest takes."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from tlslab.lab.events import Left, RunStarted

# From this number of trials on, their own time is better than the planned one.
_ENOUGH = 3


@dataclass(frozen=True)
class Done:
    """Trials or steps that are done, and those planned; `at_most`: there may be fewer."""

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
        """The trials."""
        return Done(self.done, self.total, self._at_most)


def steps_progress(left: Left) -> Done:
    """The steps of a capacity experiment."""
    return Done(left.done, left.done + left.steps, at_most=True)
