"""Connections from packets, in any order and with unrelated packets between them."""

from pathlib import Path

import dpkt
import pytest

from tlslab.domain.errors import StoreError
from tlslab.domain.validation import CapturedConnection
from tlslab.lab.capture import read_capture, read_trace

SERVER, CLIENT = 443, 40_000
SYN, ACK, RST, FIN, PSH = (
    dpkt.tcp.TH_SYN,
    dpkt.tcp.TH_ACK,
    dpkt.tcp.TH_RST,
    dpkt.tcp.TH_FIN,
    dpkt.tcp.TH_PUSH,
)


def frame(to_server: bool, flags: int, payload: int = 0, port: int = CLIENT) -> bytes:
    """A packet over loopback, cut after its headers as in a short snapshot."""
    ports = (port, SERVER) if to_server else (SERVER, port)
    tcp = dpkt.tcp.TCP(sport=ports[0], dport=ports[1], flags=flags, data=b"x" * payload)
    address = b"\x7f\0\0\1"
    ip = dpkt.ip.IP(src=address, dst=address, p=dpkt.ip.IP_PROTO_TCP, data=tcp)
    ip.len = len(ip)
    return bytes(dpkt.ethernet.Ethernet(data=ip))[:54]


def write(path: Path, packets: list[tuple[int, bytes]]) -> Path:
    """A capture with time stamps in nanoseconds."""
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file, nano=True)
        for at, packet in packets:
            writer.writepkt_time(packet, at / 1e9)
        writer.close()
    return path


def exchange(start: int, port: int = CLIENT) -> list[tuple[int, bytes]]:
    """A TLS 1.3 connection with one request, closed by a reset."""
    steps = [
        (True, SYN, 0), (False, SYN | ACK, 0), (True, ACK, 0), (True, PSH, 500),
        (False, PSH, 1000), (True, ACK, 0), (True, PSH, 300), (False, ACK, 0), (False, PSH, 2000),
        (False, FIN | ACK, 0), (True, RST, 0),
    ]  # fmt: skip
    return [
        (start + 1000 * n, frame(to, flags, payload, port))
        for n, (to, flags, payload) in enumerate(steps)
    ]


def at(start: int, port: int = CLIENT) -> CapturedConnection:
    syn_ack, asked, answered, closed = (start + 1000 * n for n in (1, 6, 8, 10))
    return CapturedConnection(port, start, syn_ack, asked, answered, closed)


def test_a_connection_has_its_instants(tmp_path: Path) -> None:
    path = write(tmp_path / "c", exchange(5_000_000))
    assert read_capture(path, SERVER) == ([at(5_000_000)], 11)


def test_connections_are_told_apart_by_port_and_order(tmp_path: Path) -> None:
    both = sorted(exchange(1_000_000) + exchange(1_000_500, CLIENT + 1))
    path = write(tmp_path / "c", both + exchange(9_000_000))
    connections, packets = read_capture(path, SERVER)
    assert connections == [at(1_000_000), at(1_000_500, CLIENT + 1), at(9_000_000)]
    assert packets == 33


def test_a_syn_that_is_sent_again_begins_nothing(tmp_path: Path) -> None:
    packets = [(100_000, frame(True, SYN)), *exchange(1_000_000)]
    (connection,) = read_capture(write(tmp_path / "c", packets), SERVER)[0]
    assert connection.syn_ns == 100_000


def test_an_alert_at_the_end_is_no_request(tmp_path: Path) -> None:
    packets = exchange(1_000_000)
    packets.insert(10, (1_009_500, frame(True, PSH, 24)))
    assert read_capture(write(tmp_path / "c", packets), SERVER)[0] == [at(1_000_000)]


def test_packets_of_no_connection_are_passed_over(tmp_path: Path) -> None:
    packets = [
        (1_000, frame(True, PSH, 5)),
        (2_000, bytes(dpkt.ethernet.Ethernet(data=dpkt.ip.IP(p=17)))),
        (3_000, frame(False, PSH, 5)),
    ]
    assert read_capture(write(tmp_path / "c", packets), SERVER) == ([], 3)


@pytest.mark.parametrize("content", [b"", b"no capture at all, but long enough to be one"])
def test_a_malformed_capture_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c").write_bytes(content)
    with pytest.raises(StoreError):
        read_capture(tmp_path / "c", SERVER)


def test_a_trace_has_instants_and_gaps(tmp_path: Path) -> None:
    header = "connection,local_port,intended_ns,started_ns,established_ns,secured_ns,"
    header += "answered_ns,ended_ns,outcome\n"
    path = tmp_path / "trace.csv"
    path.write_text(header + "0,40000,,5,7,,,9,closed_handshake\n")
    (connection,) = read_trace(path)
    assert (connection.local_port, connection.started_ns, connection.ended_ns) == (40_000, 5, 9)
    assert (connection.secured_ns, connection.outcome) == (None, "closed_handshake")
    path.write_text(header + "0,port,,5,7,,,9,completed\n")
    with pytest.raises(StoreError):
        read_trace(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(StoreError, match="lacks answered_ns"):
        read_trace(path)
