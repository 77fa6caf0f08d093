"""Checks that each generator makes full handshakes with the pinned settings, one per request.

nginx logs the negotiated parameters of each request. Logging takes time, so that it is done on a
separate server, before anything is timed.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.child import run
from bench.generators import Generator
from bench.server import GROUP, SUITE, serving

# nginx writes a dot for a session that was not reused; the first request of a connection has
# number 1.
FACTS = "$ssl_session_reused $ssl_protocol $ssl_cipher $ssl_curve $connection_requests $status"
WANTED = f". TLSv1.3 {SUITE} {GROUP} 1 200"

SECONDS = 1.0
RATE = 400

# The server writes its line after the response: the last lines come after the generator's end.
SETTLE_S = 0.2


@dataclass(frozen=True)
class Verified:
    """Requests with the wanted facts, all others by their log line, and the generator's count."""

    wanted: int
    other: Mapping[str, int]
    completed: int

    @property
    def passed(self) -> bool:
        """Whether all logged requests are as wanted, and at least as many as the generator counts.

        The server may log more: requests cut short by the end of the generator.
        """
        return not self.other and 0 < self.completed <= self.wanted


def verify(generators: Sequence[Generator]) -> dict[str, Verified]:
    """Runs each generator for a second against a logging nginx of its own."""
    found = {}
    for generator in generators:
        with (
            tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
            serving(Path(folder), facts=FACTS) as server,
        ):
            command = generator.command(server, SECONDS, RATE)
            done = run(command, SECONDS, server.worker)
            completed = generator.answer(done.output, done.code).completed
            time.sleep(SETTLE_S)
            with server.facts_log.open(encoding="utf-8") as lines:
                found[generator.name] = count(lines, completed)
    return found


def count(lines: Iterable[str], completed: int) -> Verified:
    """Counts the log's lines by their facts; `completed` is what the generator counts."""
    facts = Counter(line.strip() for line in lines)
    return Verified(facts.pop(WANTED, 0), dict(facts), completed)
