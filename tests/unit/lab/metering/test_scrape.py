"""Any answer of an exporter gives its text, or one line with the fault, in bounded time."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.lab.metering.exporter import Exporter
from tlslab.lab.metering.scrape import ScrapeError, fetch, parse_address

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
CPU = b"".join(
    b'node_cpu_seconds_total{cpu="0",mode="%s"} 1.5\n' % mode
    for mode in (b"user", b"system", b"idle")
)

Peer = Callable[[socket.socket], None]
Serve = Callable[[Peer], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a peer that handles each connection with this function; its URL."""
    listeners: list[socket.socket] = []

    def started(peer: Peer) -> str:
        own = socket.create_server(("127.0.0.1", 0))
        listeners.append(own)

        def accept() -> None:
            while True:
                try:
                    connected, _ = own.accept()
                except OSError:
                    return
                with connected:
                    try:
                        connected.recv(65536)
                        peer(connected)
                    except OSError:
                        pass

        threading.Thread(target=accept, daemon=True).start()
        return f"http://127.0.0.1:{own.getsockname()[1]}/metrics"

    yield started
    for each in listeners:
        each.close()


def answer(text: bytes) -> Peer:
    return lambda connected: connected.sendall(text)


def drip(connected: socket.socket) -> None:
    """An endless header, one byte at a time: no single wait is long."""
    connected.sendall(HEAD + b"X: ")
    for _ in range(200):
        connected.sendall(b"x")
        time.sleep(0.05)


def drip_body(connected: socket.socket) -> None:
    connected.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n")
    for _ in range(200):
        connected.sendall(b"#")
        time.sleep(0.05)


def endless(connected: socket.socket) -> None:
    connected.sendall(HEAD + b"\r\n")
    while True:
        connected.sendall(b"# " + b"x" * 65534)


def test_an_answer_has_its_text_and_its_instants(serve: Serve) -> None:
    before = time.monotonic()
    found = fetch(parse_address(serve(answer(HEAD + b"\r\n" + CPU))))
    assert found.text.encode() == CPU
    assert before <= found.sent <= found.received <= time.monotonic()


@pytest.mark.parametrize(
    ("peer", "words"),
    [
        (drip, "no whole answer within 0.5 s"),
        (drip_body, "no whole answer within 0.5 s"),
        (lambda connected: time.sleep(2), "no whole answer within 0.5 s"),
        (endless, "more than 1 MiB"),
        (answer(b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\n\r\n"), "it redirects"),
        (answer(b"HTTP/1.1 503 Busy\r\n\r\n"), "status 503"),
        (answer(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>"), "a page in HTML"),
        (answer(b"\x16\x03\x01 nonsense\r\n\r\n"), "no answer: BadStatusLine"),
        (answer(b""), "no answer: RemoteDisconnected"),
        (answer(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"), "no answer"),
    ],
)
def test_a_hostile_answer_is_one_line(serve: Serve, peer: Peer, words: str) -> None:
    address = parse_address(serve(peer))
    began = time.monotonic()
    with pytest.raises(ScrapeError, match=words) as error:
        fetch(address, deadline_s=0.5, limit=1 << 20)
    assert "\n" not in str(error.value)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "has no node_cpu_seconds_total"),
        (b"up 1\n", "has no node_cpu_seconds_total"),
        (b"node_cpu_seconds_total{{{\n", "not the text format"),
        (CPU.replace(b"1.5", b"NaN"), "is nan"),
        (CPU.replace(b"1.5", b"-3"), "is -3"),
        (CPU + CPU, "twice"),
        (CPU.replace(b"idle", b"lazy"), "lacks the mode"),
    ],
)
def test_an_answer_without_the_counters_ends_the_run_before_it_starts(
    serve: Serve, body: bytes, words: str
) -> None:
    with pytest.raises(CannotRunError, match=words) as error:
        Exporter.find(serve(answer(HEAD + b"\r\n" + body)))
    assert error.value.message.startswith("--server-metrics http://127.0.0.1:")
    assert "9100/metrics" in error.value.remedy


def test_an_exporter_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as own:
        port = own.getsockname()[1]
    with pytest.raises(CannotRunError, match="Connection refused"):
        Exporter.find(f"127.0.0.1:{port}")


@pytest.mark.parametrize(
    "text",
    ["ftp://host/metrics", "http://", "http://user:secret@host/metrics", "http://host:many/",
     "http://host/\r\nX: 1", "file:///etc/passwd", "", "a,b",
     "http://a:9100/metrics,http://b:9100/metrics"],
)  # fmt: skip
def test_a_malformed_url_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_address(text)
    assert "secret" not in error.value.message


def test_a_host_alone_has_the_usual_port_and_path() -> None:
    address = parse_address("web1.example")
    assert address.shown == "http://web1.example:9100/metrics"
    assert address.path.endswith("?collect[]=cpu")
    assert parse_address("https://[::1]/m?x=1").path == "/m?x=1"
