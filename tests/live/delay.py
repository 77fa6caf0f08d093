"""A path between two hosts whose packets take a while: by netem, or else by a forwarder.

The forwarder has a TUN device in each host's network namespace. It hands each packet on after the
delay, in their order, and loses none.
"""

import contextlib
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from live.hosts import COMMAND_S, NamespaceHost

# linux/if_tun.h and sched.h.
_TUN = Path("/dev/net/tun")
_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_CLONE_NEWNET = 0x40000000

_LINK = "delayed"
_CLIENT, _SERVER = "10.78.0.1", "10.78.0.2"

# Longer than any packet of a link with the usual MTU.
_PACKET = 2048

# How long the forwarder waits before it looks whether it is to end.
_TICK_S = 0.05


@contextlib.contextmanager
def delayed(client: NamespaceHost, server: NamespaceHost, round_trip_s: float) -> Iterator[str]:
    """The server's address on a path with this round-trip time, while the block lasts."""
    if _netem(client, round_trip_s / 2) and _netem(server, round_trip_s / 2):
        yield server.address
        return
    ends = [_tun(client), _tun(server)]
    for host, address, peer in ((client, _CLIENT, _SERVER), (server, _SERVER, _CLIENT)):
        host.ip("address", "add", address, "peer", peer, "dev", _LINK)
        host.ip("link", "set", _LINK, "up")
    forwarder = _Forwarder(ends, round_trip_s / 2)
    forwarder.start()
    try:
        yield _SERVER
    finally:
        forwarder.stop()
        for end in ends:
            os.close(end)


def lacking() -> str | None:
    """The reason why this machine delays no packets; None if it can."""
    return None if os.access(_TUN, os.R_OK | os.W_OK) else f"{_TUN} cannot be opened"


def _netem(host: NamespaceHost, seconds: float) -> bool:
    """Delays what the host sends; False if the kernel has no netem (tc-netem(8))."""
    delay = ["netem", "delay", f"{seconds * 1e6:.0f}us", "limit", "10000"]
    command = [*host.enter(), "tc", "qdisc", "add", "dev", "eth0", "root", *delay]
    done = subprocess.run(command, capture_output=True, timeout=COMMAND_S, check=False)
    return done.returncode == 0


def _tun(host: NamespaceHost) -> int:
    """A TUN device in the host's network namespace, which ends with its descriptor."""

    def make() -> int:
        libc = ctypes.CDLL(None, use_errno=True)
        with Path(f"/proc/{host.init.pid}/ns/net").open() as space:
            if libc.setns(space.fileno(), _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        descriptor = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK)
        request = struct.pack("16sH22x", _LINK.encode(), _IFF_TUN | _IFF_NO_PI)
        fcntl.ioctl(descriptor, _TUNSETIFF, request)
        return descriptor

    # A namespace is that of a thread, which must not serve anything else.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(make).result()


class _Forwarder(threading.Thread):
    """Hands packets on from each end to the other one, after a delay."""

    def __init__(self, ends: list[int], delay_s: float) -> None:
        super().__init__(daemon=True)
        self._ends = ends
        self._delay_s = delay_s
        self._on_their_way: deque[tuple[float, int, bytes]] = deque()
        self._ends_now = threading.Event()

    def run(self) -> None:
        while not self._ends_now.is_set():
            for end in select.select(self._ends, [], [], self._patience())[0]:
                with contextlib.suppress(BlockingIOError):
                    packet = os.read(end, _PACKET)
                    (other,) = (each for each in self._ends if each != end)
                    due = time.monotonic() + self._delay_s
                    self._on_their_way.append((due, other, packet))
            while self._on_their_way and self._on_their_way[0][0] <= time.monotonic():
                _, end, packet = self._on_their_way.popleft()
                os.write(end, packet)

    def stop(self) -> None:
        self._ends_now.set()
        self.join()

    def _patience(self) -> float:
        if not self._on_their_way:
            return _TICK_S
        return min(_TICK_S, max(0.0, self._on_their_way[0][0] - time.monotonic()))
