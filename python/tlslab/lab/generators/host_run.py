"""One host's part of a run, followed by its own thread."""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from tlslab.domain.errors import EngineError
from tlslab.lab.generators.clocks import ROUNDS, ROUNDS_DURING, ClockTrack, read_clock
from tlslab.lab.generators.host import Conversation, Host, HostLostError

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
                self._read_clock()
                next_reading = time.monotonic() + CLOCK_S
            self._begin()

    def _read_clock(self) -> None:
        assert self.clock is not None
        self.clock.add(read_clock(self.host, ROUNDS_DURING))
        self._returned = time.monotonic()

    def _begin(self) -> None:
        """Opens the barrier, once the instant is agreed."""
        if self._start is None or self._started:
            return
        assert self.clock is not None
        at_ns, unix_s = self._start
        self._conversation.start(self.clock.start(at_ns), unix_s)
        self._started = True
