"""Free ports, and a start that tries another port if one is taken."""

import re
import socket
from collections.abc import Callable

import psutil

from tlslab.domain.errors import CannotRunError
from tlslab.servers.address import LOOPBACK
from tlslab.servers.process import Processes, ServerProcess, wait_until

START_S = 10.0

# Another program may take the free port between the lab's check and the server's bind.
ATTEMPTS = 3

# Messages of servers and their libraries for a port in use.
_TAKEN = re.compile(r"address (is )?(already )?in use|EADDRINUSE", re.IGNORECASE)


def free_port(address: str = LOOPBACK) -> int:
    """A TCP port of an address of this machine without a listener at this moment."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def is_taken(words: str) -> bool:
    """Whether a server's message means that another program has the port."""
    return _TAKEN.search(words) is not None


def listens(server: Processes, port: int) -> bool:
    """Whether a process of this server, and not of another one, listens on the port."""
    for process in server.tree():
        try:
            connections = process.net_connections("tcp")
        except psutil.Error:
            continue
        if any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in connections):
            return True
    return False


def start_on_free_port(
    name: str,
    launch: Callable[[int], ServerProcess],
    processes: int = 1,
    seconds: float = START_S,
    address: str = LOOPBACK,
) -> tuple[int, ServerProcess]:
    """Starts a server on a free port of an address; returns the port and the server's processes.

    The server is up when it listens and has at least `processes` processes, so that none is missed.
    If another program has the port, another port is tried. Raises CannotRunError with the server's
    last words if the server ends or is not up in time.
    """
    words = ""
    for _ in range(ATTEMPTS):
        port = free_port(address)
        server = launch(port)
        try:
            if wait_until(lambda: is_up(server, port, processes), server, seconds):  # noqa: B023
                return port, server
        except BaseException:
            server.stop()
            raise
        ended = not server.alive()
        server.stop()
        words = server.last_words() or "it said nothing"
        if not is_taken(words):
            doing = "ended at once" if ended else f"was not up after {seconds:.0f} s"
            raise CannotRunError(f"{name} {doing}: {words}")
    raise CannotRunError(f"{name} found {ATTEMPTS} ports taken, one after the other: {words}")


def is_up(server: Processes, port: int, processes: int) -> bool:
    """Whether the server listens on the port, and has at least `processes` processes."""
    return len(server.tree()) >= processes and listens(server, port)
