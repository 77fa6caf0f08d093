"""`live.driver` on the head of a cluster of namespaces, its output, and the loads that it makes."""

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from live.hosts import NamespaceHost
from live.lab_on_cluster import address, served

LOAD_MS = 20_000
SKEW_NS = 1_000_000
STARTS = 5
DRIVER_S = 90.0

Line = dict[str, Any]


class Driver:
    """`live.driver` on a host, and its output."""

    def __init__(self, host: NamespaceHost, *words: str, **variables: str) -> None:
        self.process = subprocess.Popen(
            [*host.enter(), sys.executable, "-m", "live.driver", *words],
            env=host.variables() | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines: list[Line] = []
        self._new: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._new.put(json.loads(line))
        self._new.put(None)

    def until(self, **fields: Any) -> Line:
        """The next line that has these fields, with these values unless they are None."""
        deadline = time.monotonic() + DRIVER_S
        while (line := self._new.get(timeout=deadline - time.monotonic())) is not None:
            self.lines.append(line)
            if all(name in line and value in (None, line[name]) for name, value in fields.items()):
                return line
        raise AssertionError(f"no {fields} in {self.lines}")

    def finish(self) -> list[Line]:
        """All its output until its end."""
        deadline = time.monotonic() + DRIVER_S
        while (line := self._new.get(timeout=deadline - time.monotonic())) is not None:
            self.lines.append(line)
        self.process.wait(DRIVER_S)
        return self.lines

    def end(self) -> None:
        """Ends its load early, if it still runs."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.flush()

    def those(self, field: str) -> dict[str, Line]:
        """The lines that have a field, by the value of the field."""
        return {line[field]: line for line in self.lines if field in line}


@contextmanager
def loaded(head: NamespaceHost, milliseconds: int = LOAD_MS) -> Iterator[str]:
    """The specification of a load on a server on the head."""
    with served(head) as place:
        yield json.dumps(
            {
                "schema": "tlslab.spec/1",
                "url": f"https://{place}/bytes/100",
                "connections": 2,
                "load": {"rate": {"constant": 100}},
                "warmup_ms": 200,
                "stop": {"duration_ms": milliseconds},
                "tls": {"trust": "anyone"},
                "allow": [head.address],
            }
        )


def assert_start_together(
    head: NamespaceHost, spec: str, ahead_s: Mapping[str, int] | None = None
) -> Driver:
    """The last of the runs on two hosts, whose clocks are `ahead_s` seconds ahead.

    If other programs keep the machine busy, a start may be late: several runs are tried.
    """
    ahead_s = ahead_s or {}
    skews = []
    for _ in range(STARTS):
        driver = Driver(head, address(head), "2", spec)
        driver.finish()
        first, second = (
            line["started"]["monotonic_s"] - ahead_s.get(name, 0)
            for name, line in driver.those("ended").items()
        )
        skews.append(abs(first - second) * 1e9)
        if skews[-1] <= SKEW_NS:
            return driver
    raise AssertionError(f"start skews in ns: {skews}")
