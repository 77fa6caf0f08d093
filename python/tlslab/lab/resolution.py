"""The distance between a program's times and its packets' times on this machine.

Two small programs measure the distance, without tlslab-load:

1. A child makes bare TCP connections to the measured server. It reads the time before and after
   each connect, and subtracts the kernel's own time between SYN and SYN-ACK (TCP_INFO).
2. After each connect, the child reads the time and sends it to its parent in a datagram. The kernel
   stamps the datagram on arrival, at the same place as a capture. The parent wakes up and reads the
   time again. These three times are CLOCK_REALTIME.
"""

import socket
import struct
import subprocess
import sys
import time

import numpy as np
import scipy
from numpy.typing import NDArray

from tlslab.domain.errors import CannotRunError
from tlslab.domain.validation import Resolution
from tlslab.servers.base import pinned

# SOL_SOCKET's SO_TIMESTAMPNS, which Python's socket module does not name (asm-generic/socket.h).
_SO_TIMESTAMPNS = 35

# The number of times that a 99th percentile needs.
INSTANTS = 800

PATIENCE_S = 5.0

# The 18th number of Linux's struct tcp_info is the smoothed round trip in us; for a connection that
# has sent nothing, the round trip of its SYN.
_SENDER = """
import socket, struct, sys, time
host, port, back, count = sys.argv[1], *map(int, sys.argv[2:5])
pause = float(sys.argv[5])
family = socket.AF_INET6 if ":" in host else socket.AF_INET
reset = struct.pack("ii", 1, 0)
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect(("127.0.0.1", back))
for _ in range(count):
    start = time.monotonic_ns()
    stream = socket.socket(family, socket.SOCK_STREAM)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.connect((host, port))
    passed = time.monotonic_ns() - start
    info = stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 72)
    around = passed - 1000 * struct.unpack_from("=I", info, 68)[0]
    stream.close()
    out.send(struct.pack("=qq", around, time.time_ns()))
    time.sleep(pause)
"""


def measure_resolution(
    processors: tuple[int, ...], server: str, port: int, per_second: float, count: int = INSTANTS
) -> Resolution:
    """Connects from the given processors to a server, and sends to this process.

    At each quantile, the resolution is the greater of two times: the time around a connect, and the
    time before and after a datagram. Each is the upper end of a 95 % interval. Raises
    CannotRunError.
    """
    address = _address(server, port)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(PATIENCE_S + 1 / per_second)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        numbers = [port, receiver.getsockname()[1], count, 1 / per_second]
        arguments = [address, *map(str, numbers)]
        command = pinned([sys.executable, "-c", _SENDER, *arguments], processors, "KILL")
        child = subprocess.Popen(command, start_new_session=True)
        try:
            found = [_receive(receiver) for _ in range(count)]
        except TimeoutError:
            raise CannotRunError(f"no bare connections to {server}:{port} can be made") from None
        finally:
            child.kill()
            child.wait()
    around, before, behind = np.array(found, dtype=float).T
    middle, high = (
        max(upper_end(around, q), upper_end(before, q) + upper_end(behind, q)) for q in (0.5, 0.99)
    )
    return Resolution(median_us=middle / 1000, p99_us=high / 1000, n=count)


def upper_end(values: NDArray[np.float64], quantile: float) -> float:
    """The upper end of a 95 % interval of a quantile, by order statistics (Conover, chapter 3)."""
    place = int(scipy.stats.binom.ppf(0.975, len(values), quantile))
    return float(np.sort(values)[min(place, len(values) - 1)])


def _address(server: str, port: int) -> str:
    """The first address of the server that accepts a connection."""
    try:
        with socket.create_connection((server, port), timeout=PATIENCE_S) as accepted:
            return str(accepted.getpeername()[0])
    except OSError as error:
        raise CannotRunError(f"{server}:{port}: {error.strerror or error}") from None


def _receive(receiver: socket.socket) -> tuple[int, int, int]:
    """The times around a connect, and before and after the datagram that reports it, in ns."""
    data, ancillary, _, _ = receiver.recvmsg(16, socket.CMSG_SPACE(16))
    now = time.time_ns()
    if not ancillary:
        raise CannotRunError("the kernel stamps no packets (SO_TIMESTAMPNS)")
    around, sent = struct.unpack("=qq", data)
    seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
    stamped = seconds * 1_000_000_000 + nanoseconds
    return around, stamped - sent, now - stamped
