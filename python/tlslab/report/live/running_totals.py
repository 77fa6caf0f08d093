"""Totals of successive runs, as one series that never decreases."""

from dataclasses import dataclass, replace

from tlslab.domain.events import EngineEnded, Pace
from tlslab.domain.totals import Totals


@dataclass(frozen=True, order=True)
class Key:
    """The identity of a series: a generator's host, a cell, and the kind of run."""

    host: str
    cell: str
    run: str


class Series:
    """The runs of one key, finished and current, added up."""

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
        """Ends the current run, with its final totals."""
        self._running = ended.totals or self._running
        self.fold()

    def fold(self) -> None:
        """Adds the current run, by its latest totals, to the finished runs."""
        if self._running is not None:
            last = replace(self._running, in_flight=0)
            self._over = last if self._over is None else self._over.plus(last)
        self._running = None
        self._at_s = 0.0

    @property
    def totals(self) -> Totals | None:
        """All runs together; None if none has reported anything."""
        if self._over is None or self._running is None:
            return self._running or self._over
        return self._over.plus(self._running)
