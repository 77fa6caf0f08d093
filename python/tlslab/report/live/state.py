"""The state of a run in progress: one object that follows the laboratory's events."""

import math
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from tlslab.domain import events
from tlslab.domain.capacity import Step
from tlslab.domain.totals import Totals
from tlslab.report.live.hosts import (
    HostNow,
    Key,
    Point,
    Reported,
    Series,
    host_now,
    times_of,
    together,
    whole_run,
)

# The number of seconds in the charts.
HISTORY = 900

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

    def __init__(
        self, begun: events.RunStarted, clock: Callable[[], float] = time.monotonic
    ) -> None:
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
        seconds = (self._clock() - self._start) / here if here >= _ENOUGH else self._planned
        return seconds * (self.total - self.done)

    def progress(self) -> Done:
        """The progress in trials."""
        return Done(self.done, self.total, self._at_most)


@dataclass(frozen=True)
class Ended:
    """The end of the run in words, and the place of its report; empty without one."""

    words: str
    report: str


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment.

    `cell`, `stage` and `hosts` are empty between trials. `left_s` is None if it is not known.
    `times` names the times whose percentiles are shown. `failed`: all failures so far by class.
    `lost`: the generators that were lost and have made no load since.
    """

    experiment: str
    target: str
    folder: str
    cell: str
    stage: str
    progress: Done | None
    elapsed_s: float
    left_s: float | None
    times: str
    hosts: tuple[HostNow, ...]
    lost: tuple[events.GeneratorLost, ...]
    point: Point | None
    arrivals: int
    completed: int
    requests: int
    unexpected: int
    failed: dict[str, int]
    ended: Ended | None


class State:
    """Follows a run; any thread may read it.

    `experiment` is the run's name; `host` that of this machine's generator.
    """

    def __init__(
        self, experiment: str, host: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.experiment = experiment
        self._lock = threading.RLock()
        self._host = host or socket.gethostname()
        self._clock = clock
        self._start = clock()
        self._target = self._folder = self._cell = self._stage = ""
        self._run = 0
        self._times = "service"
        self._trials: TrialsLeft | None = None
        self._steps: events.Left | None = None
        self._turn_at = self._start
        self._run_left: tuple[float, float] | None = None
        self._hosts: dict[str, Reported] = {}
        self._lost: dict[str, events.GeneratorLost] = {}
        self._server: float | None = None
        self._points: deque[Point] = deque(maxlen=HISTORY)
        self._series: dict[Key, Series] = {}
        self._ended: Ended | None = None

    def take(self, event: events.Event) -> None:
        """Takes an event, as an observer of a run."""
        with self._lock:
            self._take(event)

    def locate(self, target: str) -> None:
        """Names the server, if no event does."""
        with self._lock:
            self._target = self._target or target

    def finish(self, words: str, report: str = "") -> None:
        """Ends the run; only the first call counts."""
        with self._lock:
            self._fold()
            self._ended = self._ended or Ended(words, report)

    def snapshot(self) -> Snapshot:
        """The present state of the run."""
        with self._lock:
            return self._snapshot()

    def history(self) -> tuple[Point, ...]:
        """The last seconds of load, oldest first."""
        with self._lock:
            return tuple(self._points)

    def series(self) -> dict[Key, Totals]:
        """The totals of each host, cell and kind of run since the start."""
        with self._lock:
            all_ = {key: series.totals for key, series in self._series.items()}
        return {key: totals for key, totals in all_.items() if totals is not None}

    def _take(self, event: events.Event) -> None:
        match event:
            case events.Rate(cell, kind, pace):
                for part in (pace,) if pace.parts is None else pace.parts:
                    busy = pace.server_processors
                    self._second(cell, kind, replace(part, server_processors=busy))
            case events.RunEnded(cell, kind, whole):
                for ended in (whole,) if whole.parts is None else whole.parts:
                    self._over(cell, kind, ended)
            case events.GeneratorLost(host):
                self._hosts.pop(host, None)
                self._lost[host] = event
            case events.TrialStarted(_, cell):
                self._turn(cell, "")
            case events.StepStarted(cell, step):
                self._turn(cell, step_words(step))
            case events.TrialEnded() | events.StepEnded():
                self._turn("", "")
        self._plan(event)

    def _plan(self, event: events.Event) -> None:
        """Takes the amount of work and the place from an event."""
        match event:
            case events.RunStarted(target=target, folder=folder):
                self._target, self._folder = target or "", str(folder)
                self._trials = TrialsLeft(event, self._clock)
            case events.StepsStarted(target=target, folder=folder, left=left):
                self._target, self._folder, self._steps = target, str(folder), left
            case events.StepStarted(left=left) | events.StepEnded(left=left):
                self._steps = left
            case events.TrialEnded() if self._trials is not None:
                self._trials.done += 1
            case events.Skipped(trials) if self._trials is not None:
                self._trials.total -= trials

    def _turn(self, cell: str, stage: str) -> None:
        """Starts a cell's turn, or the pause after it."""
        self._fold()
        self._cell, self._stage = cell, stage
        self._turn_at = self._clock()

    def _fold(self) -> None:
        """Ends all current runs in the series."""
        for series in self._series.values():
            series.fold()
        self._hosts.clear()
        self._run_left = None
        self._server = None

    def _second(self, cell: str, kind: str, pace: events.Pace) -> None:
        now = self._clock()
        name = pace.host or self._host
        self._of(pace.host, cell, kind).follow(pace)
        earlier = self._hosts.get(name)
        if earlier is not None and pace.at_s < earlier.pace.at_s:
            self._hosts.clear()
            earlier = None
        if not self._hosts:
            self._run += 1
        before = None if earlier is None else earlier.pace
        self._cell = cell
        self._times, _ = times_of(pace)
        self._hosts[name] = Reported(pace, before, now)
        self._lost.pop(name, None)
        if pace.left_s is not None:
            self._run_left = (now, pace.left_s)
        if pace.server_processors is not None:
            self._server = pace.server_processors
        self._draw(now)

    def _over(self, cell: str, kind: str, ended: events.EngineEnded) -> None:
        """Ends a run; a run shorter than a second is shown as a whole."""
        name = ended.host or self._host
        if name not in self._hosts and (whole := whole_run(ended)) is not None:
            self._second(cell, kind, whole)
        self._of(ended.host, cell, kind).end(ended)
        self._hosts.pop(name, None)

    def _draw(self, now: float) -> None:
        """Adds or replaces the point of this second.

        Hosts that report in the same second are one point.
        """
        t = float(math.floor(now - self._start))
        hosts = [host_now(name, report, now) for name, report in self._hosts.items()]
        point = together(hosts, t, self._run, self._server)
        if self._points and self._points[-1].t == t:
            self._points.pop()
        self._points.append(point)

    def _of(self, host: str, cell: str, kind: str) -> Series:
        return self._series.setdefault(Key(host or self._host, cell, kind), Series())

    def _snapshot(self) -> Snapshot:
        now = self._clock()
        all_: Totals | None = None
        for totals in (series.totals for series in self._series.values()):
            if totals is not None:
                all_ = totals if all_ is None else all_.plus(totals)
        return Snapshot(
            experiment=self.experiment,
            target=self._target,
            folder=self._folder,
            cell=self._cell,
            stage=self._stage,
            progress=self._progress(),
            elapsed_s=now - self._start,
            left_s=None if self._ended else self._left(now),
            times=self._times,
            hosts=tuple(host_now(name, report, now) for name, report in self._hosts.items()),
            lost=tuple(self._lost.values()),
            point=self._points[-1] if self._points else None,
            arrivals=all_.arrivals if all_ else 0,
            completed=all_.completed if all_ else 0,
            requests=all_.requests if all_ else 0,
            unexpected=all_.unexpected if all_ else 0,
            failed=dict(all_.failed) if all_ else {},
            ended=self._ended,
        )

    def _progress(self) -> Done | None:
        if self._steps is not None:
            left = self._steps
            return Done(left.done, left.done + left.steps, at_most=True)
        return None if self._trials is None else self._trials.progress()

    def _left(self, now: float) -> float | None:
        """The remaining seconds of the whole run; for a single load, of its measurement."""
        passed = now - self._turn_at
        if self._steps is not None:
            return max(0.0, self._steps.seconds - passed)
        if self._trials is not None:
            return max(0.0, self._trials.seconds() - passed)
        if self._run_left is not None:
            at, left = self._run_left
            return max(0.0, left - (now - at))
        return None


def step_words(step: Step) -> str:
    """A step of a capacity experiment: its stage and its load."""
    stage = step.stage.replace("_", " ")
    load = f"{step.rate:,.0f}/s" if step.rate is not None else f"{step.connections:,} at once"
    return f"{stage}, {load}"
