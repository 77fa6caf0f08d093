"""Exporters for tests: the real node_exporter, and one of a machine on which only a server works.

`python -m live.exporters ADDRESS PORT PROGRAM` is the latter, on a host of its own; the server is
the program of that name.
"""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil

from tlslab.domain.errors import CannotRunError
from tlslab.lab.metering.exporter import Exporter
from tlslab.servers.configured import free_port


@contextmanager
def node_exporter(folder: Path) -> Iterator[str]:
    """Debian's prometheus-node-exporter on a free port of the loopback interface; its URL."""
    program = shutil.which("prometheus-node-exporter")
    assert program, "scripts/install-debian.sh installs it"
    port = free_port()
    with (folder / "exporter.log").open("wb") as log:
        child = subprocess.Popen(
            [program, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{port}/metrics"
    try:
        _await(url)
        yield url
    finally:
        child.terminate()
        child.wait()


def _await(url: str) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            Exporter.find(url)
        except CannotRunError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return


class Machine(ThreadingHTTPServer):
    """A machine of one processor that executes the work of a process tree and is idle otherwise.

    The true value is known: the processes' own time. `answers`: the number of answers before it
    sends pages in place of metrics.
    """

    daemon_threads = True

    def __init__(
        self,
        tree: Callable[[], list[psutil.Process]],
        answers: int = 1 << 30,
        place: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        super().__init__(place, _Handler)
        self.tree = tree
        self.answers = answers
        self.began = time.monotonic()

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def text(self) -> str:
        times = [process.cpu_times() for process in self.tree()]
        user, system = sum(t.user for t in times), sum(t.system for t in times)
        idle = 1000 + time.monotonic() - self.began - user - system
        modes = {"user": user, "system": system, "idle": idle, "softirq": 0.0}
        return "# TYPE node_cpu_seconds_total counter\n" + "".join(
            f'node_cpu_seconds_total{{cpu="0",mode="{mode}"}} {seconds:.2f}\n'
            for mode, seconds in modes.items()
        )


class _Handler(BaseHTTPRequestHandler):
    server: Machine

    def do_GET(self) -> None:
        self.server.answers -= 1
        is_page = self.server.answers < 0
        body = b"<html>maintenance</html>" if is_page else self.server.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if is_page else "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Prints nothing."""


@contextmanager
def machine_of(
    tree: Callable[[], list[psutil.Process]], answers: int = 1 << 30
) -> Iterator[Machine]:
    """Starts one, and stops it."""
    made = Machine(tree, answers)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


def _running(program: str) -> list[psutil.Process]:
    return [each for each in psutil.process_iter(["name"]) if each.info["name"] == program]


def main() -> None:
    """Serves until it is killed."""
    host, port, program = sys.argv[1:]
    machine = Machine(lambda: _running(program), place=(host, int(port)))
    sys.stdout.write(f"{machine.url}\n")
    sys.stdout.flush()
    machine.serve_forever()


if __name__ == "__main__":
    main()
