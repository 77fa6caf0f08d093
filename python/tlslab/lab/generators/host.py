"""A host on which a load generator runs, and a conversation with one run of its engine.

The pool of several hosts (`several`) uses only these two protocols, so that a process on this
machine (`local`) and a node of a Ray cluster look alike. All methods may block for a round trip to
the host; each raises HostLostError once the host no longer answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tlslab.domain.errors import EngineError


@dataclass(frozen=True)
class HostFacts:
    """The facts of a host before it makes load.

    `name` is unique in the pool. `processors`: those to which a generator may be pinned.
    `architecture`: the host's `platform.machine()`. `boot_id`: the kernel's; hosts with the same
    one share a kernel and its clocks.
    """

    name: str
    processors: tuple[int, ...]
    architecture: str
    boot_id: str


class HostLostError(Exception):
    """The host died, froze, or cannot be reached. `reason` says which, in a few words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Conversation(Protocol):
    """One run of the engine on one host. Every method raises HostLostError."""

    def events(self, wait_s: float) -> list[dict[str, Any]]:
        """The events since the last call, oldest first.

        Waits for the first one for at most `wait_s` seconds; empty if there is none, and at once
        if the engine has ended.
        """

    def start(self, at_ns: int, unix_s: float) -> None:
        """Opens the barrier: load begins at `at_ns` of the host's CLOCK_MONOTONIC.

        `unix_s` is the head's wall clock at that instant, in seconds since 1970.
        """

    def interrupt(self) -> None:
        """Ends the run early (SIGINT): its record has what was measured so far."""

    def result(self) -> dict[str, Any]:
        """The engine's record, after its end.

        Waits for the end for at most 10 s, then raises EngineError `engine_hangs`. Raises the
        EngineError that the engine reported in place of a record, as `lab.engine_output` does.
        """

    def ended(self) -> bool:
        """Whether the engine has ended."""

    def close(self) -> None:
        """Kills what still runs, and releases the conversation's resources. May be called twice."""


class Host(Protocol):
    """A host with an engine. Every method raises HostLostError."""

    @property
    def facts(self) -> HostFacts:
        """The facts of the host."""

    def now_ns(self) -> int:
        """The host's CLOCK_MONOTONIC in nanoseconds, read between call and return."""

    def open(self, spec: Mapping[str, Any], flags: Sequence[str]) -> Conversation:
        """Starts the engine on a specification with --barrier, --json, --events and `flags`.

        The engine gets ready, reports the event `ready`, and waits for `Conversation.start`.
        """

    def ask(self, flags: Sequence[str], given: bytes, seconds: float) -> dict[str, Any]:
        """The engine's answer without load: preflight, probe, in memory.

        `given` is its standard input; `seconds` is its time limit. Raises EngineError.
        """

    def close(self) -> None:
        """Ends everything that runs on the host for this pool. May be called twice."""


def said_of(host: str, error: EngineError) -> EngineError:
    """An engine's error, with the name of its host in the message."""
    return EngineError(error.class_, f"{host}: {error.message}", error.remedy, error.status)
