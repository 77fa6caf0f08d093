"""A path with a delay to a server on loopback: each packet is handed on after half a round trip.

A TUN device has an address of its own and a peer, both of the block for benchmarks (RFC 2544,
198.18.0.0/15). What a client sends to the peer comes out of the device; the forwarder hands it back
after the delay as from the peer to the server on 127.0.0.1, and the answers likewise as from the
peer to the client. The kernel's netem would do the same for packets between two network namespaces;
not every kernel has it.

Only addresses of IPv4 and the checksums over them change (RFC 1624); no packet is lost or
overtaken. Needs the right to make a device (CAP_NET_ADMIN).
"""

import contextlib
import fcntl
import os
import select
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tlslab.domain.errors import CannotRunError

# linux/if_tun.h
_TUN = Path("/dev/net/tun")
_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000

_SERVER = socket.inet_aton("127.0.0.1")
_BLOCK = struct.unpack(">I", socket.inet_aton("198.18.0.0"))[0]
_PAIRS = 1 << 14

# Longer than any packet of a link with the usual MTU.
_PACKET = 2048
_TICK_S = 0.05
_COMMAND_S = 10

# Offsets of the checksums: of the header of IPv4, and in those of TCP and ICMP's neighbours.
_IP_SUM, _TCP_SUM = 10, 16
_TCP = 6


@dataclass(frozen=True)
class DelayedPath:
    """The address at which a client reaches the server, and the device that it goes through."""

    address: str
    interface: str


@contextlib.contextmanager
def delayed_path(round_trip_s: float) -> Iterator[DelayedPath]:
    """A path to servers on 127.0.0.1 with this round-trip time, for the duration of the block.

    Raises CannotRunError if this process may not make a device.
    """
    name = f"tlslab{os.getpid() % _PAIRS}"
    pair = _BLOCK + 4 * (os.getpid() % _PAIRS)
    own, peer = (struct.pack(">I", pair + number) for number in (1, 2))
    device = _device(name)
    try:
        words = [socket.inet_ntoa(address) for address in (own, peer)]
        _ip("address", "add", words[0], "peer", words[1], "dev", name)
        _ip("link", "set", name, "up")
        # A packet to 127.0.0.1 from a device other than `lo` is dropped otherwise.
        _write(Path(f"/proc/sys/net/ipv4/conf/{name}/route_localnet"), "1")
        forwarder = _Forwarder(device, round_trip_s / 2, own, peer)
        forwarder.start()
        try:
            yield DelayedPath(words[1], name)
        finally:
            forwarder.stop()
    finally:
        # The device ends with its descriptor.
        os.close(device)


def _device(name: str) -> int:
    try:
        device = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK)
        try:
            request = struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI)
            fcntl.ioctl(device, _TUNSETIFF, request)
        except OSError:
            os.close(device)
            raise
    except OSError as error:
        raise _refused(f"{_TUN}: {error.strerror}") from None
    return device


def _ip(*words: str) -> None:
    program = shutil.which("ip") or shutil.which("ip", path="/usr/sbin:/sbin")
    if program is None:
        raise CannotRunError("a path with a delay needs `ip`", "apt-get install iproute2")
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, timeout=_COMMAND_S, check=False
    )
    if done.returncode != 0:
        raise _refused(f"ip {' '.join(words)}: {' '.join(done.stderr.split())}")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "ascii")
    except OSError as error:
        raise _refused(f"{path}: {error.strerror}") from None


def _refused(words: str) -> CannotRunError:
    return CannotRunError(
        f"no path with a delay can be made: {words}",
        "run as root, or leave the delay out",
    )


class _Forwarder(threading.Thread):
    """Hands each packet of the device back to it, with other addresses, after a delay."""

    def __init__(self, device: int, delay_s: float, own: bytes, peer: bytes) -> None:
        super().__init__(daemon=True)
        self._device = device
        self._delay_s = delay_s
        self._to_server = own + peer, peer + _SERVER
        self._to_client = _SERVER + peer, peer + own
        self._on_their_way: deque[tuple[float, bytes]] = deque()
        self._ends_now = threading.Event()

    def run(self) -> None:
        while not self._ends_now.is_set():
            if select.select([self._device], [], [], self._patience())[0]:
                with contextlib.suppress(BlockingIOError):
                    self._take(os.read(self._device, _PACKET))
            while self._on_their_way and self._on_their_way[0][0] <= time.monotonic():
                os.write(self._device, self._on_their_way.popleft()[1])

    def stop(self) -> None:
        self._ends_now.set()
        self.join()

    def _take(self, packet: bytes) -> None:
        due = time.monotonic() + self._delay_s
        for before, after in (self._to_server, self._to_client):
            if packet[12:20] == before and packet[9] == _TCP:
                self._on_their_way.append((due, with_addresses(packet, after)))

    def _patience(self) -> float:
        if not self._on_their_way:
            return _TICK_S
        return min(_TICK_S, max(0.0, self._on_their_way[0][0] - time.monotonic()))


def with_addresses(packet: bytes, addresses: bytes) -> bytes:
    """A packet of TCP over IPv4 with other addresses (source, then destination: 8 bytes)."""
    found = bytearray(packet)
    found[12:20] = addresses
    for at in (_IP_SUM, (packet[0] & 15) * 4 + _TCP_SUM):
        # RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
        (checksum,) = struct.unpack_from(">H", packet, at)
        total = ~checksum & 0xFFFF
        total += sum(~word & 0xFFFF for word in struct.unpack(">4H", packet[12:20]))
        total += sum(struct.unpack(">4H", addresses))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        struct.pack_into(">H", found, at, ~total & 0xFFFF)
    return bytes(found)
