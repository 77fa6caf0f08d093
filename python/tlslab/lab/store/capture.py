"""Reads TCP connections out of a packet capture (pcap, with time stamps in nanoseconds)."""

from dataclasses import dataclass
from pathlib import Path

import dpkt

from tlslab.domain.errors import StoreError
from tlslab.domain.validation import CapturedConnection

_Ends = tuple[bytes, int]


@dataclass
class _Open:
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
    opened: list[_Open] = []
    latest: dict[_Ends, _Open] = {}
    packets = 0
    try:
        with path.open("rb") as file:
            for at, frame in dpkt.pcap.Reader(file):
                packets += 1
                _take(round(at * 1_000_000_000), frame, server_port, opened, latest)
    except (OSError, ValueError, dpkt.Error) as error:
        raise StoreError(f"{path}: not a capture: {error}") from None
    return [connection.done() for connection in opened], packets


def _take(
    at: int, frame: bytes, server_port: int, opened: list[_Open], latest: dict[_Ends, _Open]
) -> None:
    ip = dpkt.ethernet.Ethernet(frame).data
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
            latest[ends] = _Open(tcp.sport, at)
            opened.append(latest[ends])
    elif known := latest.get(ends):
        known.client(at, tcp.flags, length)


def _payload(ip: "dpkt.ip.IP | dpkt.ip6.IP6", tcp: dpkt.tcp.TCP) -> int:
    """Bytes of payload by the headers: the capture contains only the start of each packet."""
    if isinstance(ip, dpkt.ip.IP):
        return int(ip.len - ip.hl * 4 - tcp.off * 4)
    return int(ip.plen - tcp.off * 4)
