"""A path with a delay: packets with other addresses, and a connection over it where allowed."""

import os
import socket
import struct
import threading
import time
from pathlib import Path

import pytest

from tlslab.domain.errors import CannotRunError
from tlslab.lab import delayed_path as module
from tlslab.lab.delayed_path import delayed_path, with_addresses
from tlslab.lab.validate import on_path


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(source: str, destination: str, words: bytes) -> bytes:
    """A packet of TCP over IPv4, its checksums computed as a whole."""
    ends = socket.inet_aton(source) + socket.inet_aton(destination)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(words), 1, 0, 64, 6, 0) + ends
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    body = struct.pack(">HHIIBBHHH", 40000, 443, 7, 9, 0x50, 0x18, 512, 0, 0) + words
    pseudo = ends + struct.pack(">BBH", 0, 6, len(body))
    return head + body[:16] + struct.pack(">H", checksum(pseudo + body)) + body[18:]


@pytest.mark.parametrize("words", [b"", b"ab", bytes(range(256))])
def test_new_addresses_have_the_checksums_of_a_packet_made_with_them(words: bytes) -> None:
    there = socket.inet_aton("198.18.0.2") + socket.inet_aton("127.0.0.1")
    found = with_addresses(packet("198.18.0.1", "198.18.0.2", words), there)
    assert found == packet("198.18.0.2", "127.0.0.1", words)


def test_without_a_delay_nothing_changes() -> None:
    spec = {"url": "https://127.0.0.1:1/", "allow": [], "tls": {}}
    with on_path(spec, "lo", 0) as found:
        assert found == (spec, "lo")


def test_a_server_elsewhere_gets_no_delay() -> None:
    spec = {"url": "https://example.test:1/", "allow": [], "tls": {}}
    with pytest.raises(CannotRunError, match="leads to servers on 127"), on_path(spec, "lo", 20):
        pass


def test_a_machine_without_devices_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TUN", Path("/nowhere/tun"))
    with pytest.raises(CannotRunError, match="no path with a delay can be made"), delayed_path(1):
        pass


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.access("/dev/net/tun", os.R_OK | os.W_OK),
    reason="a network device needs root and /dev/net/tun",
)
def test_a_round_trip_takes_as_long_as_it_is_to_take() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve() -> None:
            stream, _ = listener.accept()
            with stream:
                stream.sendall(stream.recv(2) * 4000)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with delayed_path(0.03) as path:
            began = time.monotonic()
            port = listener.getsockname()[1]
            with socket.create_connection((path.address, port), timeout=10) as stream:
                assert time.monotonic() - began >= 0.03
                stream.sendall(b"ab")
                received = b""
                while part := stream.recv(65536):
                    received += part
        assert received == b"ab" * 4000
        thread.join(10)
