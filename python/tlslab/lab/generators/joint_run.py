"""One run of several hosts, from the barrier to the last record."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from tlslab.contract.record import LastTotals, Lost
from tlslab.domain.errors import EngineError
from tlslab.domain.wording import counted
from tlslab.lab.engine_output import Event, Listener
from tlslab.lab.generators.clocks import (
    NS,
    ROUNDS,
    ROUNDS_DURING,
    ClockTrack,
    monotonic_ns,
    read_clock,
)
from tlslab.lab.generators.host import Conversation, Host, HostLostError, said_of
from tlslab.lab.generators.joint_events import JointEvents

# A run reports once a second that it is alive. A host without any report for this long is lost.
SILENT_S = 3.0

# A host on which a call takes longer than this cannot be reached; the call will not return.
STUCK_S = 6.0

# The waiting time of one look at the events, before the start and after it, and the period of clock
# readings.
BRIEF_S = 0.05
WAIT_S = 0.1
CLOCK_S = 1.0

Report = Callable[["HostRun", Mapping[str, Any] | None], None]


class HostRun:
    """A run's share on one host. `report` gets each event, and None at the end.

    After the end, one of `record`, `lost` (the reason) and `error` is set.
    """

    def __init__(self, host: Host, spec: dict[str, Any], conversation: Conversation) -> None:
        self.host = host
        self.name = host.facts.name
        self.spec = spec
        self.clock: ClockTrack | None = None
        self.record: dict[str, Any] | None = None
        self.lost: str | None = None
        self.error: EngineError | None = None
        self.is_ready = False
        self.is_over = False
        self._conversation = conversation
        self._start: tuple[int, float] | None = None
        self._started = False
        self._stop = threading.Event()
        self._returned = time.monotonic()
        self._thread = threading.Thread(target=self._follow, name=self.name, daemon=True)

    def follow(self, report: Report) -> None:
        """Starts to follow the engine's events."""
        self._report = report
        self._thread.start()

    def start(self, at_ns: int, unix_s: float) -> None:
        """Starts the load at an instant of this machine's clock; returns at once."""
        self._start = (at_ns, unix_s)

    @property
    def is_stuck(self) -> bool:
        """Whether a call to the host has been pending for too long."""
        return not self.is_over and time.monotonic() - self._returned > STUCK_S

    @property
    def has_ended(self) -> bool:
        """Whether there is nothing to wait for: the engine has ended, or the host is lost."""
        try:
            return self.lost is not None or self._conversation.ended()
        except HostLostError as error:
            self.give_up(error.reason)
            return True

    def give_up(self, reason: str) -> None:
        """Marks the host as lost, even while its thread still waits for a call."""
        self.lost = self.lost or reason

    def interrupt(self) -> None:
        """Ends the run early and discards its record, as far as the host can be reached."""
        self._stop.set()
        self.end_early()

    def end_early(self) -> None:
        """Ends the run early; its record then contains the measurement so far."""
        try:
            self._conversation.interrupt()
        except HostLostError as error:
            self.give_up(error.reason)

    def close(self) -> None:
        """Kills what still runs on the host."""
        self._stop.set()
        try:
            self._conversation.close()
        except HostLostError as error:
            self.give_up(error.reason)

    def _follow(self) -> None:
        try:
            self.clock = ClockTrack(read_clock(self.host, ROUNDS))
            self._listen()
            if not self._stop.is_set():
                self.record = self._conversation.result()
                # A host that is lost after its record has arrived has lost nothing.
                with contextlib.suppress(HostLostError):
                    self.clock.add(read_clock(self.host, ROUNDS))
        except HostLostError as error:
            self.give_up(error.reason)
        except EngineError as error:
            self.error = error
        except Exception as error:
            # Every exception is reported here: the thread has no caller that would see it.
            self.error = EngineError("host_failed", f"{type(error).__name__}: {error}")
        self.is_over = True
        self._report(self, None)

    def _listen(self) -> None:
        """Passes events on until the engine has ended. Raises HostLostError."""
        assert self.clock is not None
        silent, next_reading = 0.0, time.monotonic() + CLOCK_S
        while not self._stop.is_set():
            before = time.monotonic()
            has_ended = self._conversation.ended()
            wait_s = WAIT_S if self._started else BRIEF_S
            events = self._conversation.events(0.0 if has_ended else wait_s)
            self._returned = time.monotonic()
            for event in events:
                self.is_ready = self.is_ready or event["event"] == "ready"
                self._report(self, event)
            if has_ended and not events:
                return
            # Time for which this machine itself was stopped does not count as silence of the host.
            silent = 0.0 if events else silent + min(self._returned - before, 2 * WAIT_S)
            if self._started and silent > SILENT_S:
                raise HostLostError(f"its engine has said nothing for {SILENT_S:.0f} s")
            if time.monotonic() >= next_reading:
                self.clock.add(read_clock(self.host, ROUNDS_DURING))
                self._returned = time.monotonic()
                next_reading = time.monotonic() + CLOCK_S
            self._begin()

    def _begin(self) -> None:
        """Opens the barrier, once the instant is agreed."""
        if self._start is None or self._started:
            return
        assert self.clock is not None
        at_ns, unix_s = self._start
        self._conversation.start(self.clock.start(at_ns), unix_s)
        self._started = True


LostPolicy = Literal["fail", "keep"]

HOST_LOST = "host_lost"

# The longest time for preflight and priming on the slowest host, and for the end of a run after its
# windows.
READY_S = 120.0
SLACK_S = 60.0

# The time from the choice of the start to the start itself: the message reaches each host, whose
# engine wakes up.
LEAD_NS = 300_000_000

# The period of checks on hosts, and the time that hosts get for an orderly end.
LOOK_S = 0.1
ORDERLY_S = 2.0

# The time that the other hosts get to drain and write their records once a host is lost.
RECORD_S = 10.0


@dataclass(frozen=True)
class LostRun:
    """A host lost in a run: the time of detection, and its last report."""

    run: HostRun
    lost: Lost


class JointRun:
    """Several hosts' shares of one load. Raises EngineError if a share fails on any host.

    `windows_s`: the time from the start to the end of the measurement; `warmup_s`: the part before
    the measurement. With the policy `keep`, the run continues without a host that is lost under
    load. With `fail`, the run is given up and the other hosts end early; `recorded` has their
    measurements.
    """

    def __init__(
        self,
        runs: Sequence[HostRun],
        listener: Listener,
        policy: LostPolicy,
        warmup_s: float,
        windows_s: float,
    ) -> None:
        self._runs = list(runs)
        self._policy = policy
        self._warmup_s = warmup_s
        self._windows_s = windows_s
        self._joint = JointEvents([run.name for run in runs], listener)
        self._heard: queue.SimpleQueue[tuple[HostRun, Event | None]] = queue.SimpleQueue()
        self._begun_ns: int | None = None
        self._given_up = False
        # The hosts whose end was handled.
        self._over: set[HostRun] = set()
        self.lost: list[LostRun] = []

    def carry_out(self) -> list[HostRun]:
        """The runs that have a record, in the order of the hosts."""
        try:
            for run in self._runs:
                run.follow(lambda run, event: self._heard.put((run, event)))
            self._until(lambda: all(run.is_ready for run in self._runs), READY_S)
            self._start()
            self._until(lambda: not self._open(), self._windows_s + SLACK_S)
        except BaseException as error:
            try:
                if isinstance(error, EngineError) and error.class_ == HOST_LOST:
                    self._give_up()
            finally:
                self._end()
            raise
        return self.recorded

    @property
    def recorded(self) -> list[HostRun]:
        """The runs that have a record, in the order of the hosts."""
        gone = {each.run for each in self.lost}
        return [run for run in self._runs if run.record is not None and run not in gone]

    def interrupt(self) -> None:
        """Ends all runs early; their records then contain the measurement so far."""
        _on_all(self._open(), HostRun.end_early)

    def close(self) -> None:
        """Kills what still runs; waits for nothing."""
        _on_all(self._runs, HostRun.close)

    def _open(self) -> list[HostRun]:
        # Evaluated after every event: with a thousand hosts this must not search lists.
        closed = self._over.union(each.run for each in self.lost)
        return [run for run in self._runs if run not in closed]

    def _until(self, done: Callable[[], bool], seconds: float) -> None:
        """Handles reports of the hosts until the condition holds. Raises EngineError."""
        deadline = time.monotonic() + seconds
        next_look = time.monotonic() + LOOK_S
        while not done():
            with contextlib.suppress(queue.Empty):
                self._handle(*self._heard.get(timeout=LOOK_S))
            if time.monotonic() >= next_look:
                self._look_after()
                next_look = time.monotonic() + LOOK_S
            if time.monotonic() > deadline:
                late = ", ".join(run.name for run in self._open())
                raise EngineError("engine_hangs", f"{late} did not end within {seconds:.0f} s")
        while not self._heard.empty():
            self._handle(*self._heard.get())

    def _handle(self, run: HostRun, event: Event | None) -> None:
        if any(each.run is run for each in self.lost):
            return
        if event is not None:
            self._joint.take(run.name, event)
            return
        self._over.add(run)
        if run.error is not None:
            raise said_of(run.name, run.error) if len(self._runs) > 1 else run.error
        if run.lost is not None:
            self._lose(run, run.lost)

    def _look_after(self) -> None:
        for run in self._open():
            if run.is_stuck:
                run.give_up("it cannot be reached")
                self._lose(run, run.lost or "")

    def _lose(self, run: HostRun, reason: str) -> None:
        """Handles the loss of a host. Raises EngineError, unless the run can go on without it."""
        at_s = -self._warmup_s
        if self._begun_ns is not None:
            at_s += (monotonic_ns() - self._begun_ns) / NS
        last = last_totals(self._joint.last_of(run.name))
        self.lost.append(LostRun(run, Lost(reason, at_s, last)))
        self._joint.leave(run.name, reason)
        goes_on = self._policy == "keep" or self._given_up
        if not goes_on or self._begun_ns is None or len(self.lost) == len(self._runs):
            raise EngineError(
                HOST_LOST,
                f"the generator {run.name} was lost: {reason}{_last_words(last)}",
                "check that the host runs and is reachable; --on-lost-host keep goes on without it",
            )

    def _give_up(self) -> None:
        """Ends the other runs early, and waits for the records of their measurements."""
        if self._begun_ns is None:
            return
        self._given_up = True
        _on_all(self._open(), HostRun.end_early)
        with contextlib.suppress(EngineError):
            self._until(lambda: not self._open(), RECORD_S)

    def _start(self) -> None:
        """Agrees on the instant at which all begin."""
        start_ns = monotonic_ns() + LEAD_NS
        unix_s = time.time() + (start_ns - monotonic_ns()) / NS
        self._begun_ns = start_ns
        for run in self._runs:
            run.start(start_ns, unix_s)

    def _end(self) -> None:
        """Ends the running engines in order, so that the server sees its connections closed."""
        running = [run for run in self._runs if not run.is_over]
        _on_all(running, HostRun.interrupt)
        deadline = time.monotonic() + ORDERLY_S
        while time.monotonic() < deadline and not all(run.has_ended for run in running):
            time.sleep(LOOK_S)
        self.close()


def _on_all(runs: Sequence[HostRun], action: Callable[[HostRun], None]) -> None:
    """Calls a function for all hosts at once, so that an unreachable host delays no other."""
    if runs:
        with ThreadPoolExecutor(max_workers=len(runs)) as pool:
            list(pool.map(action, runs))


def _last_words(last: LastTotals) -> str:
    """The counts that a lost host had reported, in words; empty if it had reported nothing."""
    if last == LastTotals():
        return ""
    done = counted(last.completed, "connection")
    return f"; it had completed {done}, and had {last.in_flight} in flight"


def last_totals(event: Event | None) -> LastTotals:
    """The counts in a host's last progress; zeros before its first one."""
    if event is None:
        return LastTotals()
    totals: Mapping[str, Any] | None = event.get("totals")
    if totals is not None:
        return LastTotals(
            arrivals=int(totals.get("arrivals", 0)),
            completed=int(totals.get("completed", 0)),
            failed={str(name): int(n) for name, n in totals.get("failed", {}).items()},
            unexpected=int(totals.get("unexpected", 0)),
            abandoned=int(totals.get("abandoned", 0)),
            requests=int(totals.get("requests", 0)),
            in_flight=int(totals.get("in_flight", 0)),
        )
    failed = int(event.get("failed", 0))
    return LastTotals(
        completed=int(event.get("completed", 0)),
        failed={"not_known": failed} if failed else {},
        in_flight=int(event.get("in_flight", 0)),
    )
