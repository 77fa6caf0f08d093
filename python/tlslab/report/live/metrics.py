"""The state of a run as Prometheus metrics, served over HTTP until the last scrape.

Counters and histograms cover all runs of a host, a cell and a kind of run; they never decrease.
A host has gauges while it makes load; `tlslab_host_lost` stays until a lost host makes load again.
docs/reference/metrics.md lists all metrics.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from select import select
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from tlslab.domain.command_line import METRICS_OPTION, Address, not_listening
from tlslab.domain.run_record import total_us
from tlslab.domain.totals import Buckets, Totals
from tlslab.domain.version import VERSION
from tlslab.report.live.hosts import HostNow, Key
from tlslab.report.live.state import Snapshot, State

# The longest wait for the last scrape, in seconds: by default Prometheus scrapes once a minute.
MOST_S = 60.0

# The tolerated delay of the last scrape over the earlier interval: a busy machine scrapes late.
_LATE_S = 5.0

_LOOK_S = 0.05

# The time limit for a client to send its request and to read the answer, in seconds.
_REQUEST_S = 10.0

LABELS = ("experiment", "host", "cell", "run")

_HOST_LABELS = ("experiment", "host")
_RUN_LABELS = ("experiment",)

Rows = list[tuple[tuple[str, ...], Totals]]

# The counters of each series: name, help, value; None if there is no value.
_COUNTERS: tuple[tuple[str, str, Callable[[Totals], float | None]], ...] = (
    ("due", "Arrivals of an open loop that were due", lambda totals: totals.due),
    (
        "arrivals",
        "Connections in flight when measurements started, and those started since",
        lambda totals: totals.arrivals,
    ),
    ("completed", "Connections that completed", lambda totals: totals.completed),
    (
        "unexpected",
        "Connections whose handshake was not the one asked for",
        lambda totals: totals.unexpected,
    ),
    ("abandoned", "Connections whose users gave up", lambda totals: totals.abandoned),
    ("requests", "Requests that were answered", lambda totals: totals.requests),
    (
        "generator_cpu_seconds",
        "Processor time of the generator's workers",
        lambda totals: total_us(totals.cpu) / 1e6,
    ),
)

_HISTOGRAMS: tuple[tuple[str, str, Callable[[Totals], Buckets | None]], ...] = (
    ("handshake", "Handshake times of completed connections", lambda totals: totals.handshake),
    ("service", "Service times of completed connections", lambda totals: totals.service),
    (
        "response",
        "Response times, and times until users gave up",
        lambda totals: totals.response,
    ),
    ("request", "Times of answered requests", lambda totals: totals.exchange),
)

_GAUGES: tuple[tuple[str, str, Callable[[HostNow], float | None]], ...] = (
    ("in_flight", "Connections in flight", lambda host: host.in_flight),
    ("waiting", "Arrivals that wait for a free slot", lambda host: host.waiting),
    ("offered_rate", "Arrivals due per second, in the last second", lambda host: host.offered),
    ("completed_rate", "Connections completed per second, in the last second",
     lambda host: host.completed),
)  # fmt: skip


class RunCollector(Collector):
    """Exports the state of a run at each scrape; remembers the times of scrapes."""

    def __init__(self, state: State, clock: Callable[[], float] = time.monotonic) -> None:
        self._state = state
        self._clock = clock
        self.scrapes: list[float] = []

    def describe(self) -> Iterable[Metric]:
        """Yields nothing, so that registration is not a scrape."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All metrics with their present values."""
        # Two scrapes are enough to know their interval.
        self.scrapes = [*self.scrapes[-1:], self._clock()]
        snapshot = self._state.snapshot()
        rows = [(self._labels(key), totals) for key, totals in sorted(self._state.series().items())]
        for name, words, count_of in _COUNTERS:
            counts = ((labels, count_of(totals)) for labels, totals in rows)
            yield _family(CounterMetricFamily, name, words, LABELS, counts)
        failed = (
            ((*labels, kind), n) for labels, totals in rows for kind, n in totals.failed.items()
        )
        words = "Connections that failed, by failure class"
        yield _family(CounterMetricFamily, "failed", words, (*LABELS, "class"), failed)
        yield from _histograms(rows)
        yield from _gauges(snapshot)
        yield from _work(snapshot)

    def _labels(self, key: Key) -> tuple[str, ...]:
        return (self._state.experiment, key.host, key.cell, key.run)


def _family(
    kind: type[CounterMetricFamily] | type[GaugeMetricFamily],
    name: str,
    words: str,
    labels: tuple[str, ...],
    values: Iterable[tuple[tuple[str, ...], float | None]],
) -> Metric:
    """A metric with its values; None is no value."""
    family = kind(f"tlslab_{name}", words, labels=labels)
    for of, value in values:
        if value is not None:
            family.add_metric(of, value)
    return family


def _histograms(rows: Rows) -> Iterator[Metric]:
    for name, words, buckets_of in _HISTOGRAMS:
        family = HistogramMetricFamily(f"tlslab_{name}_seconds", words, labels=LABELS)
        for labels, totals in rows:
            if (buckets := buckets_of(totals)) is not None:
                family.add_metric(labels, _cumulative(buckets), buckets.sum_s)
        yield family


def _cumulative(buckets: Buckets) -> list[tuple[str, float]]:
    """The cumulative counts up to each bound, in Prometheus' form."""
    cumulative = []
    count = 0
    for bound, more in zip((*buckets.bounds_s, float("inf")), buckets.counts, strict=True):
        count += more
        cumulative.append(("+Inf" if bound == float("inf") else repr(float(bound)), float(count)))
    return cumulative


def _gauges(snapshot: Snapshot) -> Iterator[Metric]:
    run = (snapshot.experiment,)
    for name, words, value_of in _GAUGES:
        values = (((*run, host.name), value_of(host)) for host in snapshot.hosts)
        yield _family(GaugeMetricFamily, name, words, _HOST_LABELS, values)
    words = "1 for a generator that was lost, until it makes load again; 0 for one that makes load"
    lost = [((*run, host.name), 0) for host in snapshot.hosts]
    lost += [((*run, gone.host), 1) for gone in snapshot.lost]
    yield _family(GaugeMetricFamily, "host_lost", words, _HOST_LABELS, lost)
    words = "Processors that the server's processes on this machine keep busy"
    busy = snapshot.point.server if snapshot.hosts and snapshot.point is not None else None
    yield _family(GaugeMetricFamily, "server_processors", words, _RUN_LABELS, [(run, busy)])


def _work(snapshot: Snapshot) -> Iterator[Metric]:
    run = (snapshot.experiment,)
    info = InfoMetricFamily("tlslab_run", "What runs", labels=_RUN_LABELS)
    info.add_metric(run, {"target": snapshot.target, "tlslab": VERSION})
    yield info
    if snapshot.progress is not None:
        for name, words, value in (
            ("trials_done", "Trials or steps that are done", snapshot.progress.done),
            ("trials_planned", "Trials or steps of the plan, at most", snapshot.progress.planned),
        ):
            yield _family(GaugeMetricFamily, name, words, _RUN_LABELS, [(run, value)])


class MetricsServer(ThreadingMixIn, WSGIServer):
    """A server of metrics. Closing waits for pending scrapes: the last one has the final totals."""

    daemon_threads = False

    def __init__(self, collector: RunCollector, address: Address) -> None:
        self.address_family = address.family
        super().__init__((address.host, address.port), _Handler)
        registry = CollectorRegistry(auto_describe=False)
        registry.register(collector)
        self.set_app(make_wsgi_app(registry))

    def take_waiting(self) -> None:
        """Answers scrapes that connected after the loop had ended."""
        while select([self], [], [], 0)[0]:
            self.handle_request()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores a scraper that has closed its connection."""


class _Handler(WSGIRequestHandler):
    timeout = _REQUEST_S

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Logs nothing: standard error has the progress of the run."""


@contextmanager
def serve_metrics(state: State, address: Address, say: Callable[[str], None]) -> Iterator[Address]:
    """Serves the metrics until the context ends; yields the address, with its port.

    If there are scrapes, the context ends after one more: otherwise the last totals would be lost.
    Raises UsageError if the address is not available.
    """
    collector = RunCollector(state)
    try:
        server = MetricsServer(collector, address)
    except OSError as error:
        raise not_listening(METRICS_OPTION, address, error) from None
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield Address(address.host, server.server_port)
        await_scrape(collector, say)
    finally:
        server.shutdown()
        thread.join()
        server.take_waiting()
        server.server_close()


def await_scrape(collector: RunCollector, say: Callable[[str], None]) -> None:
    """Waits for one more scrape, if there were two; Ctrl-C ends the wait."""
    if len(collector.scrapes) < 2:
        return
    before, last = collector.scrapes
    expected = last + (last - before) + _LATE_S
    deadline = min(expected, time.monotonic() + MOST_S)
    left_s = deadline - time.monotonic()
    if left_s > 10:
        say(f"waiting for the last scrape of {METRICS_OPTION}, {left_s:.0f} s at most")
    pause = threading.Event()
    try:
        while collector.scrapes[-1] == last and time.monotonic() < deadline:
            pause.wait(_LOOK_S)
    except KeyboardInterrupt:
        return
