"""The page that shows a run in progress, and its updates as server-sent events, one per second."""

import ipaddress
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from tlslab.domain.command_line import PAGE_OPTION, Address, not_listening
from tlslab.domain.version import VERSION
from tlslab.report.html import asset, page_environment, policy
from tlslab.report.live.state import State

# The period of a page's updates, in seconds.
EVERY_S = 1.0

# The largest number of open pages.
MOST_PAGES = 16

# The time in which open pages can be sent the end of the run.
_FAREWELL_S = 2.0

# The time limit for a client to send its request, in seconds.
_REQUEST_S = 10.0


@cache
def _own(*names: str) -> str:
    """Files of this package's `templates`, one after another."""
    folder = resources.files("tlslab.report.live") / "templates"
    return "\n".join((folder / name).read_text("utf-8").strip() for name in names)


@cache
def _style() -> Markup:
    return asset("charts.css", "report.css") + Markup("\n" + _own("live.css"))


@cache
def _script() -> Markup:
    return asset("shared.js") + Markup("\n" + _own("chart.js", "live.js"))


@cache
def _content_security_policy() -> str:
    """The page's rights: its own style and script, and events of its own server."""
    return str(policy([_style()], [_script()])) + "; connect-src 'self'; frame-ancestors 'none'"


def _render_page(experiment: str) -> str:
    """The page of the run with this name; it contains no text from a server."""
    return (
        page_environment()
        .from_string(_own("live.html.j2"))
        .render(experiment=experiment, version=VERSION, style=_style(), script=_script())
    )


class PageServer(ThreadingHTTPServer):
    """A server of one run's page."""

    daemon_threads = True
    # Handlers wait for the next report; they end with the process at the latest.
    block_on_close = False

    def __init__(self, state: State, address: Address) -> None:
        self.address_family = address.family
        self.state = state
        self.page = _render_page(state.experiment).encode()
        self.pages = threading.Semaphore(MOST_PAGES)
        # DNS rebinding: a name of another site may point to loopback, and its page read the run.
        self.checks_host = address.is_loopback
        self.closing = threading.Event()
        super().__init__((address.host, address.port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores a page that was closed during a write."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "tlslab"
    sys_version = ""
    timeout = _REQUEST_S

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if not self._is_own_host():
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
        elif path == "/":
            self._page()
        elif path == "/events":
            self._events()
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Logs nothing: standard error has the progress of the run."""

    def _is_own_host(self) -> bool:
        """Whether the page was requested by an address or as localhost.

        The page of another site could otherwise point its name to loopback and read the run.
        """
        if not self.server.checks_host:
            return True
        try:
            name = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
            return name == "localhost" or ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False

    def _page(self) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(self.server.page)))
        self.send_header("Content-Security-Policy", _content_security_policy())
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(self.server.page)

    def _events(self) -> None:
        if not self.server.pages.acquire(blocking=False):
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        try:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self._event("history", [asdict(point) for point in self.server.state.history()])
            self._follow()
        except OSError:
            pass  # The page was closed.
        finally:
            self.server.pages.release()

    def _follow(self) -> None:
        """Sends the state of the run once a second, until it has ended."""
        snapshot = self.server.state.snapshot()
        self._event("now", asdict(snapshot))
        while snapshot.ended is None and not self.server.closing.wait(EVERY_S):
            snapshot = self.server.state.snapshot()
            self._event("now", asdict(snapshot))

    def _event(self, name: str, value: object) -> None:
        """Sends JSON on one line, as an event requires."""
        data = json.dumps(value, allow_nan=False, separators=(",", ":"))
        self.wfile.write(f"event: {name}\ndata: {data}\n\n".encode())
        self.wfile.flush()


@contextmanager
def serve_page(state: State, address: Address) -> Iterator[str]:
    """Serves the page until the context ends; yields its URL.

    Open pages are sent the end of the run. Raises UsageError if nothing can listen at the address.
    """
    try:
        server = PageServer(state, address)
    except OSError as error:
        raise not_listening(PAGE_OPTION, address, error) from None
    thread = threading.Thread(target=server.serve_forever, name="live", daemon=True)
    thread.start()
    try:
        yield f"http://{Address(address.host, server.server_port).shown}/"
    finally:
        _farewell(server)
        server.shutdown()
        server.server_close()
        thread.join()


def _farewell(server: PageServer) -> None:
    """Waits until open pages have received the end."""
    server.state.finish("the program has ended")
    deadline = time.monotonic() + _FAREWELL_S
    for _ in range(MOST_PAGES):
        if not server.pages.acquire(timeout=max(0.0, deadline - time.monotonic())):
            break
    server.closing.set()
