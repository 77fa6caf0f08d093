"""Totals of runs that follow one another, as one series that never goes backwards."""

from dataclasses import dataclass, replace

from tlslab.lab.events import EngineEnded, Pace
from tlslab.model.totals import Totals


@dataclass(frozen=True, order=True)
class Key:
    """What a series is of: a generator's host, a cell, and the kind of run."""

    host: str
    cell: str
    run: str


class Series:
    """The runs of one key: those that are over, and the one under way, added up."""

    def __init__(self) -> None:
        self._over: Totals | None = None
        self._running: Totals | None = None
        self._at_s = 0.0

    def follow(self, pace: Pace) -> None:
        """Adds a second of a run; a time before the last one belongs to a new run."""
        if pace.at_s < self._at_s:
            self.fold()
        self._at_s = pace.at_s
        self._running = pace.totals or self._running

    def end(self, ended: EngineEnded) -> None:
        """The run is over, with its final totals."""
        self._running = ended.totals or self._running
        self.fold()

    def fold(self) -> None:
        """Adds the run under way, by its latest totals, to the runs that are over."""
        if self._running is not None:
            last = replace(self._running, in_flight=0)
            self._over = last if self._over is None else self._over.plus(last)
        self._running = None
        self._at_s = 0.0

    @property
    def totals(self) -> Totals | None:
        """All runs together; None where none has reported anything."""
        if self._over is None or self._running is None:
            return self._running or self._over
        return self._over.plus(self._running)
