"""How far a program's instants lie from its packets' on this machine.

Two small programs that are not the tool: a child sends datagrams over loopback, each with the time
that it read just before; the kernel stamps each on arrival, where a capture would as well; the
parent, woken up by it, reads the time again. All three are CLOCK_REALTIME.
"""

import socket
import struct
import subprocess
import sys
import time

import numpy as np

from tlslab.model.errors import CannotRunError
from tlslab.model.validation import Resolution
from tlslab.targets.base import pinned

# SOL_SOCKET's SO_TIMESTAMPNS, which Python's socket module does not name (asm-generic/socket.h).
_SO_TIMESTAMPNS = 35

# As many as a 99th percentile needs.
DATAGRAMS = 800

_SENDER = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect(("127.0.0.1", int(sys.argv[1])))
for _ in range(int(sys.argv[2])):
    out.send(time.time_ns().to_bytes(8, "little"))
    time.sleep(float(sys.argv[3]))
"""


def measure_resolution(
    processors: tuple[int, ...], per_second: float, count: int = DATAGRAMS
) -> Resolution:
    """Sends datagrams from the given processors to this process. Raises CannotRunError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5.0 + 1 / per_second)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        arguments = [str(receiver.getsockname()[1]), str(count), str(1 / per_second)]
        command = pinned([sys.executable, "-c", _SENDER, *arguments], processors, "KILL")
        child = subprocess.Popen(command, start_new_session=True)
        try:
            before, behind = np.array([_receive(receiver) for _ in range(count)], dtype=float).T
        except TimeoutError:
            raise CannotRunError("datagrams over loopback do not arrive") from None
        finally:
            child.kill()
            child.wait()
    middle, high = (float(np.quantile(before, q) + np.quantile(behind, q)) for q in (0.5, 0.99))
    return Resolution(median_us=middle / 1000, p99_us=high / 1000, n=count)


def _receive(receiver: socket.socket) -> tuple[int, int]:
    """One datagram: from its sender's reading to the kernel's stamp, from there to ours, in ns."""
    data, ancillary, _, _ = receiver.recvmsg(8, socket.CMSG_SPACE(16))
    now = time.time_ns()
    if not ancillary:
        raise CannotRunError("the kernel stamps no packets (SO_TIMESTAMPNS)")
    seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
    stamped = seconds * 1_000_000_000 + nanoseconds
    return stamped - int.from_bytes(data, "little"), now - stamped
