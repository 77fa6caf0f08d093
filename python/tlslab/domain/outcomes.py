"""The accounting over the connections of a measurement: how many ended how, and why.

As the engine's record has it (`schema/record.json`).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class FailedConnection:
    """One connection that failed: its port on the generator's side, and what else is known of it.

    The words may be the server's, and hostile.
    """

    local_port: int
    words: str


@dataclass(frozen=True)
class FailureReason:
    """How many connections of a class failed for one reason, the first few as examples."""

    class_: str
    reason: str
    count: int
    examples: tuple[FailedConnection, ...] = ()


@dataclass(frozen=True)
class Outcomes:
    """The accounting over all connections of a measurement.

    `reasons` say more of the classes in `failed` and `unexpected`: where a class is among them, the
    counts of its reasons add up to its own. `lost_with_host` connections of a merged record were
    in flight on a generator when it was last heard of, before it was lost. `closed_idle` of the
    completed connections were ended by the server between two requests, as it may.
    """

    attempts: int
    completed: int
    in_flight_at_stop: int
    failed: Mapping[str, int]
    unexpected: Mapping[str, int]
    reasons: tuple[FailureReason, ...] = ()
    lost_with_host: int = 0
    closed_idle: int = 0

    @property
    def failures(self) -> int:
        """All failed connections."""
        return sum(self.failed.values())

    @property
    def mismatches(self) -> int:
        """All connections whose handshake was not the one asked for."""
        return sum(self.unexpected.values())

    @property
    def balanced(self) -> bool:
        """Whether attempts = completed + failed + unexpected + in flight + lost, exactly.

        And whether the reasons of each class that has any add up to it.
        """
        ended = self.completed + self.failures + self.mismatches
        counts = {**self.unexpected, **self.failed}
        explained = {each.class_ for each in self.reasons}
        whole = all(
            sum(each.count for each in self.reasons_of(name)) == counts.get(name, 0)
            for name in explained
        )
        return whole and self.attempts == ended + self.in_flight_at_stop + self.lost_with_host

    def reasons_of(self, class_: str) -> tuple[FailureReason, ...]:
        """The reasons of a class, most frequent first."""
        return tuple(each for each in self.reasons if each.class_ == class_)


@dataclass(frozen=True)
class ConfirmedBy:
    """Completed connections by what shows that the server accepted the handshake.

    A `response`; without a request the `server_finished` of TLS 1.2, a `close_notify`, or a
    `ticket` without one. All are 0 in records of earlier versions.
    """

    response: int = 0
    server_finished: int = 0
    close_notify: int = 0
    ticket: int = 0


@dataclass(frozen=True)
class Kinds:
    """Completed connections by the kind of their handshake, and what priming took.

    `primed_connections` are full handshakes made before the warm-up, `refill_connections` those
    made beside the load where a server gives no ticket on resumed connections, and counted nowhere
    else.
    """

    full: int = 0
    resumed: int = 0
    early_data_accepted: int = 0
    early_data_rejected: int = 0
    primed_connections: int = 0
    primed_sessions: int = 0
    refill_connections: int = 0


@dataclass(frozen=True)
class CountedName:
    """A server name of several that connections took in turn, and how those ended."""

    name: str
    completed: int
    failed: int
    unexpected: int
