"""Serves a run's metrics over HTTP, and waits for the last scrape at the end of the run."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from select import select
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

from tlslab.domain.listen_address import METRICS_OPTION, Address, not_listening
from tlslab.report.live.metrics import RunCollector
from tlslab.report.live.state import State

# The longest wait for the last scrape, in seconds: by default Prometheus scrapes once a minute.
MOST_S = 60.0

# The tolerated delay of the last scrape over the earlier interval: a busy machine scrapes late.
_LATE_S = 5.0

_LOOK_S = 0.05

# The time limit for a client to send its request and to read the answer, in seconds.
_REQUEST_S = 10.0


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
