"""The exporter: real scrapes, the wait for the last one, a port that is taken."""

import socket
import threading
import urllib.request

import pytest

from factories.live import Clock, Watched, pace, totals
from tlslab.domain.command_line import Address
from tlslab.domain.errors import UsageError
from tlslab.report.live.metrics import RunCollector, await_scrape, serve_metrics

ANYWHERE = Address("127.0.0.1", 0)


def scrape(address: Address) -> str:
    with urllib.request.urlopen(f"http://{address.shown}/metrics", timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def test_a_scrape_has_the_state_of_its_moment() -> None:
    watched = Watched()
    with serve_metrics(watched.state, ANYWHERE, lambda line: None) as address:
        assert "tlslab_completed_total{" not in scrape(address)
        watched.seconds([pace(1.0, totals(100))])
        assert 'run="capacity"} 100.0' in scrape(address)
        # One more scrape, so that the end does not have to wait.
        threading.Timer(0.2, scrape, (address,)).start()


def test_the_end_waits_for_one_more_scrape_and_no_longer_than_usual() -> None:
    clock = Clock(0.0)
    collector = RunCollector(Watched().state, clock)
    await_scrape(collector, pytest.fail)
    list(collector.collect())
    await_scrape(collector, pytest.fail)
    # Two scrapes long ago: the next one is overdue.
    list(collector.collect())
    await_scrape(collector, pytest.fail)
    assert len(collector.scrapes) == 2


def test_nobody_is_left_waiting_for_a_scraper_that_is_gone() -> None:
    collector = RunCollector(Watched().state)
    list(collector.collect())
    list(collector.collect())
    threading.Timer(0.1, lambda: list(collector.collect())).start()
    await_scrape(collector, pytest.fail)
    assert len(collector.scrapes) == 2


def test_a_scrape_under_way_is_answered_before_the_server_is_gone() -> None:
    watched = Watched()
    with serve_metrics(watched.state, ANYWHERE, pytest.fail) as address:
        connection = socket.create_connection((address.host, address.port), timeout=30)
        connection.sendall(b"GET /metrics HTTP/1.0\r\n")
        # Connections are accepted in order: if this one is answered, that one has a thread.
        scrape(address)
        watched.seconds([pace(1.0, totals(100))])
        # The rest of the request arrives after the end has begun.
        threading.Timer(0.3, connection.sendall, (b"\r\n",)).start()
    answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    connection.close()
    assert b'run="capacity"} 100.0' in answer


def test_a_port_that_is_taken_is_wrong_usage() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = Address("127.0.0.1", other.getsockname()[1])
        refused = pytest.raises(
            UsageError, match=r"--metrics 127\.0\.0\.1:\d+: cannot listen there"
        )
        with refused, serve_metrics(Watched().state, taken, pytest.fail):
            pass
