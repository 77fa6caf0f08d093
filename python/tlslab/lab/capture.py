"""A packet capture beside a run: tcpdump as a child of the lab, and its file, read.

With it, the engine's own trace of single connections is read, which `tlslab validate` compares.
"""

import csv
import ipaddress
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpkt

from tlslab.domain.errors import CannotRunError, StoreError
from tlslab.domain.validation import CapturedConnection, TracedConnection
from tlslab.servers.base import pinned

START_S = 10.0
STOP_S = 30.0

# The length that covers headers with all options; of the payload only the length matters.
SNAPLEN = "128"

# The kernel's buffer in KiB: seconds of the highest rate, in case tcpdump has to wait.
BUFFER_KIB = "131072"

# The kernel passes packets to tcpdump after a second at most, however few they are.
SETTLE_S = 1.5


@dataclass
class Capture:
    """A capture's file, and the number of packets that the kernel dropped, known after its end."""

    path: Path
    dropped: int = 0


@contextmanager
def capturing(
    folder: Path, interface: str, host: str, port: int, processors: tuple[int, ...]
) -> Iterator[Capture]:
    """Captures all packets from and to a TCP port for the duration of the block.

    Of a `host` that is an address, only packets from and to it: on a path with a delay every packet
    passes the interface twice, with two pairs of addresses.

    Raises CannotRunError if there is no tcpdump or if it has no permission to capture.
    """
    program = shutil.which("tcpdump") or shutil.which("tcpdump", path="/usr/sbin:/usr/bin")
    if program is None:
        raise CannotRunError("tcpdump is not installed", "apt-get install tcpdump")
    capture = Capture(folder / "capture.pcap")
    words = folder / "tcpdump.log"
    command = [program, "-i", interface, "-w", str(capture.path), "-n", "-B", BUFFER_KIB]
    command += ["-s", SNAPLEN, "--time-stamp-precision=nano", "-Z", "root", _filter(host, port)]
    with words.open("wb") as errors:
        child = subprocess.Popen(
            pinned(command, processors, "KILL"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
    try:
        _wait_for_start(child, words)
        yield capture
        time.sleep(SETTLE_S)
        child.send_signal(signal.SIGINT)
        child.wait(STOP_S)
        capture.dropped = _dropped(words.read_text("utf-8", "replace"))
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def _filter(host: str, port: int) -> str:
    """The packets to capture (pcap-filter(7))."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return f"tcp port {port}"
    sides = (f"({side} host {host} and tcp {side} port {port})" for side in ("dst", "src"))
    return " or ".join(sides)


def _wait_for_start(child: subprocess.Popen[bytes], words: Path) -> None:
    deadline = time.monotonic() + START_S
    while b"listening on" not in words.read_bytes():
        if child.poll() is not None or time.monotonic() > deadline:
            said = " ".join(words.read_text("utf-8", "replace").split())[:300]
            raise CannotRunError(
                f"tcpdump does not capture: {said or 'it said nothing'}",
                "run as root, or let tcpdump capture: setcap cap_net_raw+ep $(which tcpdump)",
            )
        time.sleep(0.02)


def _dropped(words: str) -> int:
    """The number of dropped packets, from tcpdump's last lines.

    Raises CannotRunError without them.
    """
    counts = re.findall(r"^(\d+) packets? dropped by (?:kernel|interface)", words, re.MULTILINE)
    if not counts:
        raise CannotRunError(f"tcpdump did not say what it lost: {' '.join(words.split())[:300]}")
    return sum(map(int, counts))


# Link types without a header of their own, as of a TUN device: DLT_RAW, LINKTYPE_RAW.
_RAW = (12, 101)

_Ends = tuple[bytes, int]


@dataclass
class _OpenConnection:
    """A connection while its packets are read."""

    port: int
    syn_ns: int
    syn_ack_ns: int | None = None
    asked_ns: int | None = None
    answered_ns: int | None = None
    # The exchange before, which counts if the client's last data (an alert) was never answered.
    before: tuple[int | None, int | None] = (None, None)
    closed_ns: int | None = None

    def client(self, at: int, flags: int, length: int) -> None:
        if length:
            if self.answered_ns is not None:
                self.before = self.asked_ns, self.answered_ns
            self.asked_ns, self.answered_ns = at, None
        if flags & (dpkt.tcp.TH_RST | dpkt.tcp.TH_FIN) and self.closed_ns is None:
            self.closed_ns = at

    def server(self, at: int, flags: int, length: int) -> None:
        if flags & dpkt.tcp.TH_SYN and self.syn_ack_ns is None:
            self.syn_ack_ns = at
        if length and self.asked_ns is not None and self.answered_ns is None:
            self.answered_ns = at

    def done(self) -> CapturedConnection:
        asked, answered = self.asked_ns, self.answered_ns
        if answered is None:
            asked, answered = self.before
        return CapturedConnection(
            self.port, self.syn_ns, self.syn_ack_ns, asked, answered, self.closed_ns
        )


def read_capture(path: Path, server_port: int) -> tuple[list[CapturedConnection], int]:
    """The connections to a port, in the order of their first SYN, and the number of packets.

    A connection whose SYN is not in the capture is left out. Raises StoreError.
    """
    opened: list[_OpenConnection] = []
    latest: dict[_Ends, _OpenConnection] = {}
    packets = 0
    try:
        with path.open("rb") as file:
            reader = dpkt.pcap.Reader(file)
            packet_of = dpkt.ip.IP if reader.datalink() in _RAW else _of_ethernet
            for at, frame in reader:
                packets += 1
                ip = packet_of(frame)
                _take(round(at * 1_000_000_000), ip, server_port, opened, latest)
    except (OSError, ValueError, dpkt.Error) as error:
        raise StoreError(f"{path}: not a capture: {error}") from None
    return [connection.done() for connection in opened], packets


def _of_ethernet(frame: bytes) -> Any:
    return dpkt.ethernet.Ethernet(frame).data


def _take(
    at: int,
    ip: Any,
    server_port: int,
    opened: list[_OpenConnection],
    latest: dict[_Ends, _OpenConnection],
) -> None:
    tcp = getattr(ip, "data", None)
    if not isinstance(tcp, dpkt.tcp.TCP):
        return
    length = _payload(ip, tcp)
    if tcp.dport != server_port:
        if tcp.sport == server_port and (known := latest.get((ip.dst, tcp.dport))):
            known.server(at, tcp.flags, length)
        return
    ends = ip.src, tcp.sport
    if tcp.flags & dpkt.tcp.TH_SYN:
        before = latest.get(ends)
        # A retransmitted SYN starts no connection.
        if before is None or before.syn_ack_ns is not None or before.closed_ns is not None:
            latest[ends] = _OpenConnection(tcp.sport, at)
            opened.append(latest[ends])
    elif known := latest.get(ends):
        known.client(at, tcp.flags, length)


def _payload(ip: "dpkt.ip.IP | dpkt.ip6.IP6", tcp: dpkt.tcp.TCP) -> int:
    """Bytes of payload by the headers: the capture contains only the start of each packet."""
    if isinstance(ip, dpkt.ip.IP):
        return int(ip.len - ip.hl * 4 - tcp.off * 4)
    return int(ip.plen - tcp.off * 4)


_TRACE_COLUMNS = {
    "local_port", "started_ns", "established_ns", "secured_ns", "answered_ns", "ended_ns",
    "outcome",
}  # fmt: skip


def read_trace(path: Path) -> list[TracedConnection]:
    """All connections of a trace, in its order. Raises StoreError."""
    try:
        with path.open(encoding="ascii", newline="") as file:
            reader = csv.DictReader(file)
            if lacking := _TRACE_COLUMNS - set(reader.fieldnames or ()):
                raise StoreError(f"{path}: no trace, it lacks {', '.join(sorted(lacking))}")
            return [_traced(row) for row in reader]
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: not a trace: {error}") from None


def _traced(row: dict[str, str]) -> TracedConnection:
    def instant(name: str) -> int | None:
        return int(row[name]) if row[name] else None

    return TracedConnection(
        local_port=instant("local_port"),
        started_ns=instant("started_ns"),
        established_ns=instant("established_ns"),
        secured_ns=instant("secured_ns"),
        answered_ns=instant("answered_ns"),
        ended_ns=instant("ended_ns"),
        outcome=row["outcome"],
    )
