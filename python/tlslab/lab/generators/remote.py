"""A host on another node: the calls of `host.Host` go to a `node.Node` there."""

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from tlslab.domain.errors import EngineError
from tlslab.lab.generators.host import HostFacts, HostLostError

# The time that a call may take beyond its own waiting time; after that the host is lost.
PATIENCE_S = 3.0

# The time limit for an engine to start, or to merge and write its record (`local.RESULT_S`).
ENGINE_S = 10.0


class Calls(Protocol):
    """Calls a method of a node; raises HostLostError without an answer within `seconds`."""

    def __call__(self, method: str, *arguments: Any, seconds: float) -> Any:
        """The result of the method on the node."""

    def close(self) -> None:
        """Ends the node and all engines there. May be called twice."""


class RemoteHost:
    """A `host.Host` by calls."""

    def __init__(self, facts: HostFacts, calls: Calls) -> None:
        self.facts = facts
        self._calls = calls
        self._numbers = itertools.count(1)

    def now_ns(self) -> int:
        """See `host.Host`."""
        return int(self._calls("now_ns", seconds=PATIENCE_S))

    def open(self, spec: Mapping[str, Any], flags: Sequence[str]) -> "RemoteConversation":
        """See `host.Host`."""
        number = next(self._numbers)
        seconds = ENGINE_S + PATIENCE_S
        _taken(self._calls("open", number, dict(spec), list(flags), seconds=seconds))
        return RemoteConversation(self._calls, number)

    def ask(self, flags: Sequence[str], given: bytes, seconds: float) -> dict[str, Any]:
        """See `host.Host`."""
        waiting = seconds + PATIENCE_S
        answer: dict[str, Any] = _taken(
            self._calls("ask", list(flags), given, seconds, seconds=waiting)
        )
        return answer

    def close(self) -> None:
        """See `host.Host`."""
        self._calls.close()


class RemoteConversation:
    """A `host.Conversation` by calls: conversation `number` of the node."""

    def __init__(self, calls: Calls, number: int) -> None:
        self._calls = calls
        self._number = number

    def events(self, wait_s: float) -> list[dict[str, Any]]:
        """See `host.Conversation`."""
        events: list[dict[str, Any]] = self._call("events", wait_s, seconds=wait_s)
        return events

    def start(self, at_ns: int, unix_s: float) -> None:
        """See `host.Conversation`."""
        self._call("start", at_ns, unix_s)

    def interrupt(self) -> None:
        """See `host.Conversation`."""
        self._call("interrupt")

    def result(self) -> dict[str, Any]:
        """See `host.Conversation`."""
        record: dict[str, Any] = self._call("result", seconds=2 * ENGINE_S)
        return record

    def ended(self) -> bool:
        """See `host.Conversation`."""
        return bool(self._call("ended"))

    def close(self) -> None:
        """See `host.Conversation`; nothing can be closed on a lost host."""
        with suppress(HostLostError):
            self._call("close", seconds=ENGINE_S)

    def _call(self, method: str, *arguments: Any, seconds: float = 0.0) -> Any:
        seconds += PATIENCE_S
        return _taken(self._calls("call", self._number, method, *arguments, seconds=seconds))


def _taken(answer: tuple[str, Any]) -> Any:
    """The result of a node's call. Raises the error that it raised there."""
    kind, given = answer
    if kind == "engine":
        raise EngineError(*given)
    if kind == "lost":
        raise HostLostError(given)
    return given
