"""One answer of an exporter over HTTP, and the processor counters in it.

An answer is bounded in time and size, redirects are refused. `node_cpu_seconds_total{cpu, mode}`
(node_exporter, collector cpu) are the kernel's times in /proc/stat, truncated to 1/100 s.
`namedprocess_namegroup_cpu_seconds_total{groupname, mode}` are process-exporter's. Other lines are
dropped before parsing.
"""

import contextlib
import http.client
import math
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil

from tlslab.domain.errors import UsageError

if TYPE_CHECKING:
    from prometheus_client import Metric

# The time limit of an answer, from the connection to its last byte, in seconds.
DEADLINE_S = 5.0

# A node_exporter's answer on a machine of 256 processors has about 1 MB.
BODY_LIMIT = 8 << 20

# Makes node_exporter leave out all other collectors; other exporters ignore the query.
ONLY_PROCESSORS = "collect[]=cpu"

REMEDY = "give the URL of a node_exporter, like http://HOST:9100/metrics"


class ScrapeError(Exception):
    """There was no usable answer; the message is the reason, on one line."""


@dataclass(frozen=True)
class Address:
    """The checked address of an exporter."""

    https: bool
    host: str
    port: int
    path: str

    @property
    def shown(self) -> str:
        """The URL for display, without its query."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        path = self.path.partition("?")[0]
        return f"{'https' if self.https else 'http'}://{host}:{self.port}{path}"


@dataclass(frozen=True)
class Answer:
    """An exporter's text, made between two instants of the monotonic clock."""

    text: str
    sent: float
    received: float


def parse_address(text: str) -> Address:
    """An exporter's URL as a user writes it. Raises UsageError."""
    given = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(given)
        port = parts.port
    except ValueError:
        raise UsageError(f"--server-metrics {text}: not a URL", REMEDY) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--server-metrics {text}: not an HTTP URL", REMEDY)
    if parts.username is not None or parts.password is not None:
        # The command line is kept in the run folder.
        raise UsageError("--server-metrics: a URL with a password would be kept in the run folder")
    if "," in parts.netloc or "://" in parts.path:
        raise UsageError(f"--server-metrics {text}: one exporter at a time", REMEDY)
    if any(not 33 <= ord(letter) <= 126 for letter in given):
        raise UsageError("--server-metrics: the URL has characters that no URL may have", REMEDY)
    path = parts.path if parts.path not in ("", "/") else "/metrics"
    path += f"?{parts.query or ONLY_PROCESSORS}"
    https = parts.scheme == "https"
    return Address(https, parts.hostname, port or (443 if https else 9100), path)


def fetch(address: Address, deadline_s: float = DEADLINE_S, limit: int = BODY_LIMIT) -> Answer:
    """Queries once. Raises ScrapeError. Takes little longer than the deadline, whatever the peer
    does.

    At the deadline the connection is shut down, so that a peer that sends a byte now and then
    cannot extend it.
    """
    try:
        with _connection(address, deadline_s) as connection:
            sent = time.monotonic()
            connection.request("GET", address.path, headers={"Accept": "text/plain"})
            response = connection.getresponse()
            _check(response)
            body = response.read(limit + 1)
            received = time.monotonic()
    except TimeoutError:
        raise ScrapeError(f"no whole answer within {deadline_s:g} s") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        words = getattr(error, "strerror", None) or type(error).__name__
        raise ScrapeError(f"no answer: {words}") from None
    if len(body) > limit:
        raise ScrapeError(f"the answer has more than {limit >> 20} MiB")
    return Answer(body.decode("utf-8", "replace"), sent, received)


def _check(response: http.client.HTTPResponse) -> None:
    if 300 <= response.status < 400:
        raise ScrapeError(f"status {response.status}: it redirects; give the URL it leads to")
    if response.status != 200:
        raise ScrapeError(f"status {response.status}")
    if "html" in response.headers.get("Content-Type", "").lower():
        raise ScrapeError("the answer is a page in HTML, not metrics")


@contextlib.contextmanager
def _connection(address: Address, deadline_s: float) -> Iterator[http.client.HTTPConnection]:
    """A connection that is cut off at the deadline, with TimeoutError."""
    connection: http.client.HTTPConnection
    if address.https:
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(
            address.host, address.port, timeout=deadline_s, context=context
        )
    else:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=deadline_s)
    deadline = time.monotonic() + deadline_s
    timer: threading.Timer | None = None
    try:
        connection.connect()
        timer = threading.Timer(max(0.0, deadline - time.monotonic()), _cut, [connection.sock])
        timer.daemon = True
        timer.start()
        yield connection
        if time.monotonic() >= deadline:
            raise TimeoutError
    except (OSError, http.client.HTTPException):
        if time.monotonic() >= deadline:
            raise TimeoutError from None
        raise
    finally:
        if timer is not None:
            timer.cancel()
        connection.close()


def _cut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


MACHINE = "node_cpu_seconds_total"
GROUPS = "namedprocess_namegroup_cpu_seconds_total"

IDLE_MODES = ("idle", "iowait")
USER_MODES = ("user", "nice")
SYSTEM_MODES = ("system", "irq", "softirq")
MODES = (*USER_MODES, *SYSTEM_MODES, *IDLE_MODES, "steal")

PROCESSORS_LIMIT = 8192
LINES_LIMIT = 100_000
GROUPS_LIMIT = 100
NAME_LIMIT = 100

# Two readings whose counters differ by no more than this are of the same machine.
SAME_S = 2.0

Times = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Counters:
    """Seconds so far: of the machine by processor and mode, of groups by name and mode.

    The counters were read between the instants `sent` and `received` of the monotonic clock.
    """

    machine: Times
    groups: Times
    sent: float
    received: float


def parse(answer: Answer) -> Counters:
    """The counters of an answer. Raises ScrapeError if it has no plausible ones."""
    # Imported here because every run imports this module, and few have an exporter.
    from prometheus_client.parser import text_string_to_metric_families

    lines = [line for line in answer.text.split("\n") if line.startswith((MACHINE, GROUPS))]
    if len(lines) > LINES_LIMIT:
        raise ScrapeError(f"more than {LINES_LIMIT} lines of processor counters")
    try:
        families = list(text_string_to_metric_families("\n".join(lines) + "\n"))
    except Exception as error:  # The parser may raise any exception, depending on its input.
        raise ScrapeError(f"not the text format of Prometheus: {type(error).__name__}") from None
    machine = _collect(families, MACHINE, "cpu", MODES)
    groups = _collect(families, GROUPS, "groupname", ("user", "system"))
    if not machine:
        raise ScrapeError(f"the answer has no {MACHINE}: is it a node_exporter?")
    names = {name for name, _ in machine}
    if len(names) > PROCESSORS_LIMIT:
        raise ScrapeError(f"more than {PROCESSORS_LIMIT} processors")
    if any((name, mode) not in machine for name in names for mode in ("user", "system", "idle")):
        raise ScrapeError(f"{MACHINE} lacks the mode user, system or idle of a processor")
    first = sorted({name for name, _ in groups})[:GROUPS_LIMIT]
    kept = {key: value for key, value in groups.items() if key[0] in first}
    return Counters(machine, kept, answer.sent, answer.received)


def _collect(
    families: "Iterable[Metric]", metric: str, label: str, modes: tuple[str, ...]
) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for family in families:
        for sample in family.samples:
            if sample.name != metric or sample.labels.get("mode") not in modes:
                continue
            key = sample.labels.get(label, "")[:NAME_LIMIT], sample.labels["mode"]
            if key in found:
                raise ScrapeError(f"{metric} has {label} {key[0]!r} twice")
            if not math.isfinite(sample.value) or sample.value < 0:
                raise ScrapeError(f"{metric} is {sample.value}")
            found[key] = float(sample.value)
    return found


def is_this_machine(counters: Counters) -> bool:
    """Whether the counters are those of this machine, read just now."""
    try:
        own = psutil.cpu_times(percpu=True)
    except OSError:  # Without /proc/stat this machine's counters are not known.
        return False
    theirs = counters.machine
    return len({name for name, _ in theirs}) == len(own) and all(
        abs(theirs.get((str(number), mode), math.inf) - getattr(times, mode)) < SAME_S
        for number, times in enumerate(own)
        for mode in ("user", "system", "idle")
    )
