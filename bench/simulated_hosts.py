"""Hosts that make no load: each repeats the record of one run, with an event a second."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tlslab.lab.generators.host import HostFacts
from tlslab.lab.generators.local import boot_id
from tlslab.model.record import RunRecord
from tlslab.store import to_json

NS = 10**9


@dataclass(frozen=True)
class Repeated:
    """A run's record as data, and how long the run took, warm-up included."""

    record: dict[str, Any]
    seconds: float

    @classmethod
    def of(cls, record: RunRecord) -> "Repeated":
        """What is repeated of a run of one generator."""
        return cls(to_json(record), record.seconds + record.spec["warmup_ms"] / 1000)


class RepeatingHost:
    """A `host.Host`. All of them say that they are this machine: one pre-test does for all."""

    def __init__(self, number: int, repeated: Repeated) -> None:
        self.facts = HostFacts(f"host-{number}", (), "x86_64", boot_id())
        self._number = number
        self._repeated = repeated

    def now_ns(self) -> int:
        """The clock of this machine."""
        return time.monotonic_ns()

    def open(self, spec: Mapping[str, Any], flags: Sequence[str]) -> "RepeatingConversation":
        """A run like the one that is repeated."""
        return RepeatingConversation(spec, self._repeated, self._number)

    def ask(self, flags: Sequence[str], given: bytes, seconds: float) -> dict[str, Any]:
        """The pre-test's answer: every host can carry the same."""
        return {"handshakes": {"handshakes_per_s": 1000.0}}

    def close(self) -> None:
        """Nothing runs."""


class RepeatingConversation:
    """A `host.Conversation` with the events of a run: ready, a progress each second, the end."""

    def __init__(self, spec: Mapping[str, Any], repeated: Repeated, late_us: int) -> None:
        self._spec = spec
        self._late_us = late_us
        self._repeated = repeated
        self._pending: list[dict[str, Any]] = [{"event": "ready", "now_ns": time.monotonic_ns()}]
        self._begin_ns: int | None = None
        self._unix_s = 0.0
        self._said = 0

    def events(self, wait_s: float) -> list[dict[str, Any]]:
        """What has happened since the last call."""
        found, self._pending = self._pending, []
        if not found:
            time.sleep(wait_s)
        elapsed = self._elapsed_s()
        while self._said + 1 <= elapsed:
            self._said += 1
            found.append({"event": "progress", "at_s": float(self._said), "completed": self._said})
        if found or self.ended():
            return found
        return [{"event": "alive", "now_ns": time.monotonic_ns()}]

    def _elapsed_s(self) -> float:
        if self._begin_ns is None:
            return -1.0
        return min((time.monotonic_ns() - self._begin_ns) / NS, self._repeated.seconds)

    def start(self, at_ns: int, unix_s: float) -> None:
        """The run begins at that instant."""
        self._begin_ns, self._unix_s = at_ns, unix_s

    def interrupt(self) -> None:
        """Nothing runs."""

    def ended(self) -> bool:
        """Whether the run's time is over."""
        return self._elapsed_s() >= self._repeated.seconds

    def result(self) -> dict[str, Any]:
        """The repeated record, for this host's specification and start."""
        # Equal records are refused: each began a microsecond later.
        late_s = self._late_us / 1e6
        monotonic_s = (self._begin_ns or 0) / NS + late_s
        started = {"unix_s": self._unix_s + late_s, "monotonic_s": monotonic_s}
        return {**self._repeated.record, "spec": dict(self._spec), "started": started}

    def close(self) -> None:
        """Nothing runs."""
