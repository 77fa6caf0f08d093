"""A real Prometheus for tests: Debian's, on loopback, with its own folder."""

import contextlib
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tlslab.servers.configured import free_port

_CONFIGURATION = """\
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: tlslab
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""


@dataclass(frozen=True)
class Prometheus:
    """A Prometheus that scrapes this port of loopback every second."""

    url: str
    scraped_port: int

    def ask(self, path: str, **parameters: str) -> Any:
        """The answer of its API, an error included."""
        try:
            with urllib.request.urlopen(f"{self.url}{path}?{urlencode(parameters)}") as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """An instant query: the labels and the value of each series."""
        found = self.ask("/api/v1/query", query=expression)
        assert found["status"] == "success", found
        return [(each["metric"], float(each["value"][1])) for each in found["data"]["result"]]

    def value(self, expression: str) -> float:
        """A query with exactly one result."""
        ((_, value),) = self.query(expression)
        return value


@contextmanager
def prometheus(folder: Path) -> Iterator[Prometheus]:
    """Starts one, and stops it."""
    program = shutil.which("prometheus")
    assert program, "scripts/install-debian.sh installs it"
    port, scraped = free_port(), free_port()
    configuration = folder / "prometheus.yml"
    configuration.write_text(_CONFIGURATION.format(port=scraped))
    line = [
        program,
        f"--config.file={configuration}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        child = subprocess.Popen(line, stdout=log, stderr=log)
    started = Prometheus(f"http://127.0.0.1:{port}", scraped)
    try:
        _await_scrape(started, child)
        yield started
    finally:
        child.terminate()
        child.wait()


def _await_scrape(started: Prometheus, child: subprocess.Popen[bytes]) -> None:
    """Waits until Prometheus scrapes, which begins some seconds after it is ready."""
    deadline = time.monotonic() + 60
    while True:
        assert child.poll() is None, "it ended: see prometheus.log"
        # During its start it answers without JSON. A target that does not exist is down: then a
        # scrape was tried.
        with contextlib.suppress(OSError, ValueError):
            if started.query("up"):
                return
        assert time.monotonic() < deadline
        time.sleep(0.1)
