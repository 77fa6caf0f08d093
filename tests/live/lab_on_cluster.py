"""`tlslab` on the head of a cluster of namespaces, a server there, and checks of what is left."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from live.harness import makes_load
from live.hosts import PORT, NamespaceHost
from tlslab.lab.generators.cluster.ray_hosts import HEAD_SILENT_S
from tlslab.servers.programs import require_program

# Time limits for a machine that other programs use as well.
RUN_S = 280.0
START_S = 90.0

# Longer than a node waits for its head.
END_S = HEAD_SILENT_S + 10


class Lab:
    """`tlslab` on the head of a cluster."""

    def __init__(self, head: NamespaceHost) -> None:
        self.head = head

    def start(
        self, *arguments: str, prefix: Sequence[str] = (), **variables: str
    ) -> subprocess.Popen[str]:
        configuration = str(self.head.folder / "configuration")
        own = {
            "RAY_ADDRESS": f"{self.head.address}:{PORT}",
            "COLUMNS": "200",
            "XDG_CONFIG_HOME": configuration,
        }
        return subprocess.Popen(
            [*self.head.enter(), *prefix, sys.executable, "-m", "tlslab", *arguments],
            env=self.head.variables() | own | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **variables: str) -> tuple[int, str, str]:
        return self.finish(self.start(*arguments, **variables))

    def finish(self, child: subprocess.Popen[str]) -> tuple[int, str, str]:
        out, err = child.communicate(timeout=RUN_S)
        assert "Traceback" not in err, err
        return child.returncode, out, err

    def allow(self, *hosts: str) -> None:
        """Writes the allow file."""
        path = self.head.folder / "configuration" / "tlslab" / "allow"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(hosts), "utf-8")

    def measuring(self, host: NamespaceHost, child: subprocess.Popen[str]) -> None:
        """Waits until the host makes load."""
        deadline = time.monotonic() + RUN_S
        while not _is_loading(host):
            assert child.poll() is None, child.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _is_loading(host: NamespaceHost) -> bool:
    """Whether an engine on the host is beyond the barrier."""
    return any(makes_load(engine) for engine in host.named("tlslab-load"))


def address(head: NamespaceHost) -> str:
    """The address of a head's cluster, in the form of --generators."""
    return f"ray://{head.address}:{PORT}"


@contextmanager
def served(head: NamespaceHost) -> Iterator[str]:
    """A server on the head, as `HOST:PORT`."""
    place = f"{head.address}:4433"
    program = require_program("tlslab-serve")
    server = head.start(program, "--listen", place, "--self-signed", "ecdsa-p256")
    try:
        ready = time.monotonic() + START_S
        while '"ready"' not in head.said(server):
            assert server.poll() is None, head.said(server)
            assert time.monotonic() < ready
            time.sleep(0.05)
        yield place
    finally:
        # nsenter(1), which was started here, would leave its child behind.
        for process in head.named("tlslab-serve"):
            process.kill()
        server.wait(START_S)


def until(holds: Callable[[], bool], seconds: float = END_S) -> None:
    """Waits until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def assert_nothing_of_the_lab(host: NamespaceHost) -> None:
    """Waits until neither an engine nor its actor runs on a host."""
    until(lambda: not host.named("tlslab-load"))
    until(lambda: not host.named("ray::Node"))
