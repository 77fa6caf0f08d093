"""Hosts that make no load: each repeats the record of one run, with an event per second."""

import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tlslab.contract.record import RunRecord
from tlslab.lab.generators.host import HostFacts
from tlslab.lab.generators.local import boot_id
from tlslab.lab.store import to_json

NS = 10**9

# The buckets of the times in an engine's totals, in seconds (docs/reference/events.md).
BOUNDS_S = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    10.0,
)  # fmt: skip


@dataclass(frozen=True)
class Repeated:
    """A run's record as data, and the run's duration, warm-up included."""

    record: dict[str, Any]
    seconds: float

    @classmethod
    def of(cls, record: RunRecord) -> "Repeated":
        """The repeatable part of a run of one generator."""
        return cls(to_json(record), record.seconds + record.spec["warmup_ms"] / 1000)


def totals(record: Mapping[str, Any], portion: float) -> dict[str, Any]:
    """An engine's totals after this portion of a run (0 to 1): the same portion of the record.

    All times of a kind are in the bucket of their mean.
    """

    def part(count: int) -> int:
        return round(portion * count)

    def times(name: str) -> dict[str, Any]:
        found = record["summaries"].get(name, {"n": 0, "mean_ms": 0.0})
        count, mean_s = part(found["n"]), found["mean_ms"] / 1000
        counts = [0] * (len(BOUNDS_S) + 1)
        counts[bisect_left(BOUNDS_S, mean_s)] = count
        return {"bounds_s": BOUNDS_S, "counts": counts, "sum_s": count * mean_s, "count": count}

    outcomes = record["outcomes"]
    completed, in_flight = part(outcomes["completed"]), outcomes["in_flight_at_stop"]
    failed = {name: part(count) for name, count in outcomes["failed"].items()}
    unexpected = part(sum(outcomes["unexpected"].values()))
    return {
        "due": None,
        "arrivals": completed + sum(failed.values()) + unexpected + in_flight,
        "completed": completed,
        "failed": failed,
        "unexpected": unexpected,
        "requests": part(record["requests"]),
        "in_flight": in_flight,
        **{name: times(name) for name in ("handshake", "service", "exchange")},
        "response": None,
        "cpu": {name: part(record["cpu"][name]) for name in ("user_us", "system_us")},
    }


class RepeatingHost:
    """A `host.Host`. All of these claim to be this machine, so that one pre-test serves all."""

    def __init__(self, number: int, repeated: Repeated) -> None:
        self.facts = HostFacts(f"host-{number}", (), "x86_64", boot_id())
        self._number = number
        self._repeated = repeated

    def now_ns(self) -> int:
        """The clock of this machine."""
        return time.monotonic_ns()

    def open(self, spec: Mapping[str, Any], flags: Sequence[str]) -> "RepeatingConversation":
        """A run like the repeated one."""
        return RepeatingConversation(spec, self._repeated, self._number)

    def ask(self, flags: Sequence[str], given: bytes, seconds: float) -> dict[str, Any]:
        """The pre-test's answer: every host has the same capacity."""
        return {"handshakes": {"handshakes_per_s": 1000.0}}

    def close(self) -> None:
        """Does nothing: nothing runs."""


class RepeatingConversation:
    """A `host.Conversation` with the events of a run: ready, a progress each second, its end."""

    def __init__(self, spec: Mapping[str, Any], repeated: Repeated, late_us: int) -> None:
        self._spec = spec
        self._late_us = late_us
        self._repeated = repeated
        self._pending: list[dict[str, Any]] = [{"event": "ready", "now_ns": time.monotonic_ns()}]
        self._begin_ns: int | None = None
        self._unix_s = 0.0
        self._said = 0
        self._has_reported = False

    def events(self, wait_s: float) -> list[dict[str, Any]]:
        """The events since the last call."""
        found, self._pending = self._pending, []
        if not found:
            time.sleep(wait_s)
        elapsed = self._elapsed_s()
        while self._said + 1 <= elapsed:
            self._said += 1
            found.append(self._progress(float(self._said)))
        if self.ended() and not self._has_reported:
            self._has_reported = True
            seconds = self._repeated.seconds
            whole = totals(self._repeated.record, 1.0)
            found.append({"event": "ended", "at_s": seconds, "totals": whole})
        if found or self.ended():
            return found
        return [{"event": "alive", "now_ns": time.monotonic_ns()}]

    def _progress(self, at_s: float) -> dict[str, Any]:
        """The second that ends at `at_s`: each is like the others."""
        record, seconds = self._repeated.record, self._repeated.seconds
        done = totals(record, at_s / seconds)
        per_s = record["outcomes"]["completed"] / seconds
        return {
            "event": "progress",
            "at_s": at_s,
            "completed": done["completed"],
            "failed": sum(done["failed"].values()) + done["unexpected"],
            "left_s": seconds - at_s,
            "offered_per_s": None,
            "started_per_s": per_s,
            "connections_per_s": per_s,
            "requests_per_s": record["requests"] / seconds,
            "in_flight": done["in_flight"],
            "waiting": 0,
            "totals": done,
        }

    def _elapsed_s(self) -> float:
        if self._begin_ns is None:
            return -1.0
        return min((time.monotonic_ns() - self._begin_ns) / NS, self._repeated.seconds)

    def start(self, at_ns: int, unix_s: float) -> None:
        """Starts the run at that instant."""
        self._begin_ns, self._unix_s = at_ns, unix_s

    def interrupt(self) -> None:
        """Does nothing: nothing runs."""

    def ended(self) -> bool:
        """Whether the run's time is over."""
        return self._elapsed_s() >= self._repeated.seconds

    def result(self) -> dict[str, Any]:
        """The repeated record, for this host's specification and start."""
        # Equal records are refused: each starts a microsecond later.
        late_s = self._late_us / 1e6
        monotonic_s = (self._begin_ns or 0) / NS + late_s
        started = {"unix_s": self._unix_s + late_s, "monotonic_s": monotonic_s}
        return {**self._repeated.record, "spec": dict(self._spec), "started": started}

    def close(self) -> None:
        """Does nothing: nothing runs."""
