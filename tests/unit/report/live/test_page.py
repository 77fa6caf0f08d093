"""The page's server: its pages, the clients that it serves, and the end of a run."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from factories.live import Watched, pace, totals
from tlslab.domain.command_line import Address
from tlslab.domain.errors import UsageError
from tlslab.report.live import page as live_page
from tlslab.report.live.page import serve_page

ANYWHERE = Address("127.0.0.1", 0)


@contextmanager
def asked(url: str, path: str, **headers: str) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        yield connection.getresponse()
    finally:
        connection.close()


def events(response: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    """The events of a stream, until it ends."""
    name = ""
    for line in response:
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def test_the_page_may_do_nothing_but_follow_its_own_server() -> None:
    with serve_page(Watched().state, ANYWHERE) as url, asked(url, "/") as response:
        page = response.read().decode()
        policy = response.getheader("Content-Security-Policy", "")
    assert response.status == 200
    assert page.startswith("<!doctype html>")
    assert "groups" in page
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    assert rules["connect-src"] == "'self'"
    assert rules["script-src"].startswith("'sha256-")


def test_a_stream_has_the_history_then_updates_and_ends_with_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_page, "EVERY_S", 0.01)
    watched = Watched()
    watched.start()
    watched.seconds([pace(1.0, totals(100)), pace(2.0, totals(200, 1))])
    with serve_page(watched.state, ANYWHERE) as url, asked(url, "/events") as response:
        assert response.getheader("Content-Type") == "text/event-stream"
        stream = events(response)
        name, points = next(stream)
        assert (name, [point["t"] for point in points]) == ("history", [1.0, 2.0])
        name, now = next(stream)
        assert (name, now["completed"], now["failed"]) == ("now", 200, {"reset": 1})
        assert now["hosts"][0]["name"] == "bed"
        watched.state.finish("done", "runs/x/report.html")
        *_, (_, last) = stream
    assert last["ended"] == {"words": "done", "report": "runs/x/report.html"}


def test_pages_hear_of_the_end_before_their_server_is_gone() -> None:
    watched = Watched()
    with serve_page(watched.state, ANYWHERE) as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        connection.request("GET", "/events")
        response = connection.getresponse()
    *_, (_, last) = events(response)
    connection.close()
    assert last["ended"]["words"] == "the program has ended"


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        ("/", "localhost:1", 200),
        ("/", "[::1]:1", 200),
        ("/", "evil.example", 421),
        ("/events", "127.0.0.1.evil.example:80", 421),
        ("/", "10.0.0.1", 421),
        ("/", "[::", 421),
        ("/etc/passwd", "localhost", 404),
        ("/../x", "localhost", 404),
    ],
)
def test_only_this_machine_asks_and_only_for_the_page(path: str, host: str, status: int) -> None:
    with serve_page(Watched().state, ANYWHERE) as url, asked(url, path, Host=host) as response:
        assert response.status == status


def test_a_page_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_page, "MOST_PAGES", 1)
    with serve_page(Watched().state, ANYWHERE) as url, asked(url, "/events") as first:
        next(events(first))
        with asked(url, "/events") as second:
            assert second.status == 503


def test_a_port_that_is_taken_is_wrong_usage() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = Address("127.0.0.1", other.getsockname()[1])
        refused = pytest.raises(UsageError, match="cannot listen there: Address already in use")
        with refused, serve_page(Watched().state, taken):
            pass
