"""The state of a run as Prometheus metrics.

Counters and histograms cover all runs of a host, a cell and a kind of run; they never decrease.
A host has gauges while it makes load; `tlslab_host_lost` stays until a lost host makes load again.
docs/reference/metrics.md lists all metrics.
"""

import time
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from tlslab.domain.totals import Buckets, Totals
from tlslab.domain.version import VERSION
from tlslab.report.live.hosts_now import HostNow
from tlslab.report.live.running_totals import Key
from tlslab.report.live.state import Snapshot, State

LABELS = ("experiment", "host", "cell", "run")

_HOST_LABELS = ("experiment", "host")

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
    ("requests", "Requests that were answered", lambda totals: totals.requests),
    (
        "generator_cpu_seconds",
        "Processor time of the generator's workers",
        lambda totals: totals.cpu.total_us / 1e6,
    ),
)

_HISTOGRAMS: tuple[tuple[str, str, Callable[[Totals], Buckets | None]], ...] = (
    ("handshake", "Handshake times of completed connections", lambda totals: totals.handshake),
    ("service", "Service times of completed connections", lambda totals: totals.service),
    ("response", "Response times of completed connections", lambda totals: totals.response),
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
        yield from _counters(rows)
        yield _failed(rows)
        yield from _histograms(rows)
        yield from _gauges(snapshot)
        yield from _work(snapshot)

    def _labels(self, key: Key) -> tuple[str, ...]:
        return (self._state.experiment, key.host, key.cell, key.run)


def _counters(rows: Rows) -> Iterator[Metric]:
    for name, words, value_of in _COUNTERS:
        family = CounterMetricFamily(f"tlslab_{name}", words, labels=LABELS)
        for labels, totals in rows:
            if (value := value_of(totals)) is not None:
                family.add_metric(labels, value)
        yield family


def _failed(rows: Rows) -> Metric:
    words = "Connections that failed, by failure class"
    family = CounterMetricFamily("tlslab_failed", words, labels=(*LABELS, "class"))
    for labels, totals in rows:
        for name, count in totals.failed.items():
            family.add_metric((*labels, name), count)
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
    found = []
    count = 0
    for bound, more in zip((*buckets.bounds_s, float("inf")), buckets.counts, strict=True):
        count += more
        found.append(("+Inf" if bound == float("inf") else repr(float(bound)), float(count)))
    return found


def _gauges(snapshot: Snapshot) -> Iterator[Metric]:
    for name, words, value_of in _GAUGES:
        family = GaugeMetricFamily(f"tlslab_{name}", words, labels=_HOST_LABELS)
        for host in snapshot.hosts:
            if (value := value_of(host)) is not None:
                family.add_metric((snapshot.experiment, host.name), value)
        yield family
    yield _lost(snapshot)
    words = "Processors that the server's processes on this machine keep busy"
    family = GaugeMetricFamily("tlslab_server_processors", words, labels=("experiment",))
    if snapshot.hosts and snapshot.point is not None and snapshot.point.server is not None:
        family.add_metric((snapshot.experiment,), snapshot.point.server)
    yield family


def _lost(snapshot: Snapshot) -> Metric:
    words = "1 for a generator that was lost, until it makes load again; 0 for one that makes load"
    family = GaugeMetricFamily("tlslab_host_lost", words, labels=_HOST_LABELS)
    for host in snapshot.hosts:
        family.add_metric((snapshot.experiment, host.name), 0)
    for lost in snapshot.lost:
        family.add_metric((snapshot.experiment, lost.host), 1)
    return family


def _work(snapshot: Snapshot) -> Iterator[Metric]:
    info = InfoMetricFamily("tlslab_run", "What runs", labels=("experiment",))
    info.add_metric((snapshot.experiment,), {"target": snapshot.target, "tlslab": VERSION})
    yield info
    if snapshot.progress is None:
        return
    for name, words, value in (
        ("trials_done", "Trials or steps that are done", snapshot.progress.done),
        ("trials_planned", "Trials or steps of the plan, at most", snapshot.progress.planned),
    ):
        family = GaugeMetricFamily(f"tlslab_{name}", words, labels=("experiment",))
        family.add_metric((snapshot.experiment,), value)
        yield family
