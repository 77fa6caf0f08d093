"""The engine's output: events and messages on standard error, one answer on standard output.

Imports only Python's standard library and light modules: nodes of a cluster run it.
"""

import json
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from tlslab.domain.errors import EngineError

Event = Mapping[str, Any]
Listener = Callable[[Event], None]


class EventLines:
    """Splits standard error into events, which are passed on, and messages, which are kept."""

    def __init__(self, listener: Callable[[dict[str, Any]], None]) -> None:
        self._listener = listener
        self._pending = b""
        self._words: list[str] = []

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        for line in lines:
            event = _object(line)
            if event is not None and "event" in event:
                self._listener(event)
            elif line.strip():
                self._words.append(line.decode("utf-8", "replace").strip())

    @property
    def words(self) -> str:
        """The last lines that were not events, on one line."""
        return "; ".join(self._words[-5:])[-600:]


def answer(output: bytes, code: int, words: str) -> dict[str, Any]:
    """The engine's answer on standard output. Raises the EngineError that it reported instead.

    `words`: the messages on standard error other than events, for an engine without an answer.
    """
    # An error may follow an answer, of a file that could not be written.
    data = _object(output) or _object(output.strip().rpartition(b"\n")[2])
    if data is None:
        text = words or "it said nothing"
        raise EngineError("engine_failed", f"the engine ended with code {code}: {text}")
    if str(data.get("schema", "")).startswith("tlslab.error/"):
        class_ = str(data.get("class", "unknown"))
        message = str(data.get("message", class_))
        raise EngineError(class_, message, str(data.get("remedy") or ""), data.get("status"))
    return data


def answer_of(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The answer of an engine that has ended, whose events are not wanted. Raises EngineError."""
    lines = EventLines(lambda event: None)
    lines.feed(done.stderr + b"\n")
    return answer(done.stdout, done.returncode, lines.words)


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
