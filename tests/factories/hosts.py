"""Made-up hosts: they answer at once, and die, freeze or change their clocks on demand."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from tlslab.domain.errors import EngineError
from tlslab.lab.generators.host import HostFacts, HostLostError

# The real duration of a second in a made-up run.
TICK_S = 0.03

HERE = "this-machine"


def now_ns() -> int:
    """The clock of this machine."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


@dataclass
class FakeHost:
    """A host that makes `per_second` connections in each of `seconds`.

    `offset_ns`: its clock against this machine's, which `jump_ns` changes once load is made.
    `dies_after`, `freezes_after`: the second of its measurement in which it dies or freezes; a
    frozen host still answers requests for its clock unless it is `cut_off`. `refuses`: its engine's
    error before it is ready; `fails`: the error in place of its record; `unreachable`: the call for
    which it cannot be reached.
    """

    name: str
    boot_id: str = HERE
    processors: tuple[int, ...] = (0, 1)
    per_second: int = 100
    seconds: int = 4
    offset_ns: int = 0
    jump_ns: int = 0
    speed: float = 1000.0
    dies_after: int | None = None
    freezes_after: int | None = None
    cut_off: bool = False
    unreachable: str = ""
    refuses: EngineError | None = None
    fails: EngineError | None = None
    opened: list["FakeConversation"] = field(default_factory=list)
    asked: list[tuple[str, ...]] = field(default_factory=list)
    is_closed: bool = False
    is_frozen: bool = False
    makes_load: bool = False
    given_up: Event = field(default_factory=Event)

    @property
    def facts(self) -> HostFacts:
        """The facts of the host."""
        return HostFacts(self.name, self.processors, "x86_64", self.boot_id)

    def now_ns(self) -> int:
        """Its clock."""
        if self.is_frozen and self.cut_off:
            # Returns when whoever waits has given up, so that no time is compared with another.
            self.given_up.wait(60.0)
            raise HostLostError("no answer")
        return now_ns() + self.offset_ns + (self.jump_ns if self.makes_load else 0)

    def open(self, spec: Mapping[str, Any], flags: Sequence[str]) -> "FakeConversation":
        """A made-up engine that gets ready."""
        if self.unreachable == "open":
            raise HostLostError("no route")
        self.opened.append(FakeConversation(self, dict(spec)))
        return self.opened[-1]

    def ask(self, flags: Sequence[str], given: bytes, seconds: float) -> dict[str, Any]:
        """Its speed, or a preflight."""
        if self.unreachable == "ask":
            raise HostLostError("no route")
        self.asked.append(tuple(flags))
        if self.refuses is not None and "--preflight" in flags:
            raise self.refuses
        return {"handshakes": {"handshakes_per_s": self.speed}}

    def close(self) -> None:
        """Records that it was closed."""
        self.is_closed = True


class FakeConversation:
    """A made-up run: ready at once, then one report per second."""

    def __init__(self, host: FakeHost, spec: dict[str, Any]) -> None:
        self.host = host
        self.spec = spec
        self.started: tuple[int, float] | None = None
        self.is_interrupted = False
        self.is_closed = False
        self._events: deque[dict[str, Any]] = deque()
        self._second = -1
        self._has_ended = host.refuses is not None
        if host.refuses is None:
            self._events.append({"event": "preflight", "address": "127.0.0.1:1", "facts": {}})
            self._events.append({"event": "ready", "now_ns": host.now_ns()})

    def events(self, wait_s: float) -> list[dict[str, Any]]:
        """The events since the last call."""
        if not self._events and not self._has_ended:
            time.sleep(min(wait_s, TICK_S))
            self._go_on()
        found = list(self._events)
        self._events.clear()
        return found

    def start(self, at_ns: int, unix_s: float) -> None:
        """Opens the barrier."""
        self.started = (at_ns, unix_s)
        self.host.makes_load = True

    def interrupt(self) -> None:
        """Ends the run early, if the host is alive."""
        self.is_interrupted = True
        self._has_ended = not self.host.is_frozen

    def result(self) -> dict[str, Any]:
        """The record, or the error in its place."""
        error = self.host.refuses or self.host.fails
        if error is not None:
            raise error
        return {"host": self.host.name, "spec": self.spec}

    def ended(self) -> bool:
        """Whether the run is over."""
        return self._has_ended

    def close(self) -> None:
        """Kills the run."""
        self.is_closed = self._has_ended = True
        self.host.given_up.set()

    def _go_on(self) -> None:
        """Makes another second of the run, once its start has come."""
        host = self.host
        if self.started is None or host.now_ns() < self.started[0] or self.host.is_frozen:
            return
        self._second += 1
        if self._second == 0:
            self._events.append({"event": "phase", "phase": "measure", "at_ns": host.now_ns()})
        elif self._second == host.dies_after:
            raise HostLostError("it died")
        elif self._second == host.freezes_after:
            host.is_frozen = True
        elif self._second <= host.seconds:
            self._events.append(self._progress())
        else:
            self._events.append({"event": "phase", "phase": "drain", "at_ns": host.now_ns()})
            self._has_ended = True

    def _progress(self) -> dict[str, Any]:
        done = self._second * self.host.per_second
        totals = {"arrivals": done + 2, "completed": done, "failed": {}, "unexpected": 0,
                  "requests": done, "in_flight": 2}  # fmt: skip
        return {
            "event": "progress", "at_s": float(self._second), "completed": done, "failed": 0,
            "started_per_s": self.host.per_second, "connections_per_s": self.host.per_second,
            "requests_per_s": self.host.per_second, "in_flight": 2, "waiting": 0,
            "service": {"n": 9, "p50_ms": 1.0, "p99_ms": 2.0}, "response": None, "exchange": None,
            "totals": totals,
        }  # fmt: skip
