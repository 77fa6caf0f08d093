"""A host that is a node elsewhere: its engines by calls to `node.Node` there."""

import itertools
import json
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from tlslab.lab.engine import answer
from tlslab.lab.generators.host import HostFacts, HostLostError
from tlslab.model.errors import EngineError

# How long a call may take beyond what it waits for on purpose; no answer by then: the host is lost.
PATIENCE_S = 3.0

# What the engine needs after its last event to merge and to write its record.
RESULT_S = 10.0

RUN = ("--spec", "-", "--barrier", "--json", "--events")


class Calls(Protocol):
    """Calls a method of a node; raises HostLostError without an answer within `seconds`."""

    def __call__(self, method: str, *arguments: Any, seconds: float) -> Any:
        """What the method returns there."""

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
        given = json.dumps(spec).encode() + b"\n"
        self._calls("start", number, [*RUN, *flags], given, True, seconds=PATIENCE_S)
        return RemoteConversation(self._calls, number)

    def ask(self, flags: Sequence[str], given: bytes, seconds: float) -> dict[str, Any]:
        """See `host.Host`."""
        number = next(self._numbers)
        self._calls("start", number, list(flags), given, False, seconds=PATIENCE_S)
        conversation = RemoteConversation(self._calls, number)
        try:
            return conversation.answer(seconds)
        finally:
            conversation.close()

    def close(self) -> None:
        """See `host.Host`."""
        self._calls.close()


class RemoteConversation:
    """A `host.Conversation` by calls: child `number` of the node."""

    def __init__(self, calls: Calls, number: int) -> None:
        self._calls = calls
        self._number = number
        self._ended = False

    def events(self, wait_s: float) -> list[dict[str, Any]]:
        """See `host.Conversation`."""
        lines, self._ended = self._call("events", wait_s, seconds=wait_s + PATIENCE_S)
        return [event for event in map(_object, lines) if "event" in event]

    def start(self, at_ns: int, unix_s: float) -> None:
        """See `host.Conversation`."""
        line = json.dumps({"start_at_ns": at_ns, "unix_s": unix_s}).encode() + b"\n"
        self._call("write", line, seconds=PATIENCE_S)

    def interrupt(self) -> None:
        """See `host.Conversation`."""
        self._call("signal", int(signal.SIGINT), seconds=PATIENCE_S)

    def result(self) -> dict[str, Any]:
        """See `host.Conversation`."""
        return self.answer(RESULT_S)

    def answer(self, seconds: float) -> dict[str, Any]:
        """What the engine says at its end, which may take so long. Raises EngineError."""
        code, output, words = self._call("outcome", seconds, seconds=seconds + PATIENCE_S)
        if code is None:
            raise EngineError("engine_hangs", f"the engine did not end within {seconds:.0f} s")
        self._ended = True
        return answer(output, code, words)

    def ended(self) -> bool:
        """See `host.Conversation`."""
        if not self._ended:
            self._ended = self._call("outcome", 0.0, seconds=PATIENCE_S)[0] is not None
        return self._ended

    def close(self) -> None:
        """See `host.Conversation`."""
        with suppress(HostLostError):  # Nothing runs there any more, or nobody can end it.
            self._call("end", seconds=PATIENCE_S)

    def _call(self, method: str, *arguments: Any, seconds: float) -> Any:
        return self._calls(method, self._number, *arguments, seconds=seconds)


def _object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
