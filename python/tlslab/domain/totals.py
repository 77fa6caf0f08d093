"""The outcomes of all connections of a measurement so far, as the engine's events report them.

The fields are those of `totals` in docs/reference/events.md. Totals of several measurements and of
several hosts add up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tlslab.contract.record import CpuTime


@dataclass(frozen=True)
class Buckets:
    """Times counted in buckets, in seconds.

    `counts` is one longer than `bounds_s`: the last count is that of times above the last bound.
    """

    bounds_s: tuple[float, ...]
    counts: tuple[int, ...]
    sum_s: float

    @property
    def count(self) -> int:
        """The number of times."""
        return sum(self.counts)

    def plus(self, other: "Buckets") -> "Buckets":
        """The sum of both; they must have the same bounds."""
        counts = tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        return Buckets(self.bounds_s, counts, self.sum_s + other.sum_s)


@dataclass(frozen=True)
class Totals:
    """The accounting.

    `arrivals` = `completed` + all `failed` + `unexpected` + `abandoned` + `in_flight`.
    `due` and `response` are None in a closed loop.
    """

    arrivals: int
    completed: int
    failed: Mapping[str, int]
    unexpected: int
    requests: int
    in_flight: int
    handshake: Buckets
    service: Buckets
    exchange: Buckets
    abandoned: int = 0
    due: int | None = None
    response: Buckets | None = None
    cpu: CpuTime = field(default_factory=lambda: CpuTime(0, 0))

    @property
    def troubled(self) -> int:
        """The number of connections that failed or were unexpected."""
        return sum(self.failed.values()) + self.unexpected

    def plus(self, other: "Totals") -> "Totals":
        """The sum of both."""
        classes = (*self.failed, *(name for name in other.failed if name not in self.failed))
        mine, theirs = self.response, other.response
        return Totals(
            arrivals=self.arrivals + other.arrivals,
            completed=self.completed + other.completed,
            failed={name: self.failed.get(name, 0) + other.failed.get(name, 0) for name in classes},
            unexpected=self.unexpected + other.unexpected,
            abandoned=self.abandoned + other.abandoned,
            requests=self.requests + other.requests,
            in_flight=self.in_flight + other.in_flight,
            handshake=self.handshake.plus(other.handshake),
            service=self.service.plus(other.service),
            exchange=self.exchange.plus(other.exchange),
            due=_sum(self.due, other.due),
            response=mine.plus(theirs) if mine and theirs else mine or theirs,
            cpu=CpuTime(
                self.cpu.user_us + other.cpu.user_us, self.cpu.system_us + other.cpu.system_us
            ),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other
