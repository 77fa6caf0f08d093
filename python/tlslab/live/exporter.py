"""Serves a run's metrics over HTTP, and waits for the last scrape when the run is over."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server

from tlslab.live.addresses import Address, not_listening
from tlslab.live.metrics import RunCollector
from tlslab.live.state import State

OPTION = "--metrics"

# How long the last scrape is waited for at most, in seconds: by default Prometheus scrapes once a
# minute.
MOST_S = 60.0

# How much later than the scrapes before the last one may be.
_LATE_S = 1.0

_LOOK_S = 0.05


@contextmanager
def serve_metrics(state: State, address: Address, say: Callable[[str], None]) -> Iterator[Address]:
    """Serves the metrics as long as the context lasts; the address, with its port.

    If somebody scrapes, the context ends after one more scrape: the last totals would be lost
    otherwise. Raises UsageError where the address cannot be had.
    """
    collector = RunCollector(state)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    try:
        server, thread = start_http_server(address.port, address.host, registry)
    except OSError as error:
        raise not_listening(OPTION, address, error) from None
    try:
        yield Address(address.host, server.server_port)
        await_scrape(collector, say)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def await_scrape(collector: RunCollector, say: Callable[[str], None]) -> None:
    """Waits for one more scrape, if there were two; Ctrl-C ends the wait."""
    if len(collector.scrapes) < 2:
        return
    before, last = collector.scrapes
    expected = last + (last - before) + _LATE_S
    deadline = min(expected, time.monotonic() + MOST_S)
    if deadline - time.monotonic() > 5:
        say(f"waiting for the last scrape of {OPTION}, {deadline - time.monotonic():.0f} s at most")
    pause = threading.Event()
    try:
        while collector.scrapes[-1] == last and time.monotonic() < deadline:
            pause.wait(_LOOK_S)
    except KeyboardInterrupt:
        return
