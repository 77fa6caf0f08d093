"""ClientHellos of known clients, written here and not by tlslab, and the server's answers."""

import socket
import struct
from dataclasses import dataclass

from tlslab.advice.simulate import Client

NUMBERS = {"SSL 3.0": 0x0300, "1.0": 0x0301, "1.1": 0x0302, "1.2": 0x0303, "1.3": 0x0304}
NAMES = {number: name for name, number in NUMBERS.items()}


# Base points as key shares. Their secret is 1.
X25519_BASE = b"\x09" + bytes(31)
P256_BASE = bytes.fromhex(
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
)
SHARES = {0x001D: X25519_BASE, 0x0017: P256_BASE}


@dataclass(frozen=True)
class Answer:
    """The server's choice; `group` in TLS 1.3 only."""

    version: str
    suite: int
    group: int | None


def vector(data: bytes, length_bytes: int = 2) -> bytes:
    return len(data).to_bytes(length_bytes) + data


def numbers(values: tuple[int, ...]) -> bytes:
    return b"".join(struct.pack(">H", value) for value in values)


def extension(number: int, content: bytes) -> bytes:
    return struct.pack(">H", number) + vector(content)


def extensions(client: Client, name: str) -> bytes:
    found = b""
    if client.sni:
        found += extension(0, vector(b"\x00" + vector(name.encode())))
    if client.groups is not None:
        found += extension(10, vector(numbers(client.groups)))
        found += extension(11, vector(b"\x00", 1))
    if client.schemes is not None:
        found += extension(13, vector(numbers(client.schemes)))
    if client.alpn:
        found += extension(16, vector(b"".join(vector(name.encode(), 1) for name in client.alpn)))
    if "1.3" in client.versions:
        versions = tuple(NUMBERS[version] for version in client.versions)
        found += extension(43, vector(numbers(versions), 1))
        found += extension(45, vector(b"\x01", 1))
        # A server that lacks a group skips its share.
        shares = {group: SHARES.get(group, bytes(32)) for group in client.shares}
        listed = b"".join(struct.pack(">H", g) + vector(key) for g, key in shares.items())
        found += extension(51, vector(listed))
    return found


def client_hello(client: Client, name: str) -> bytes:
    newest = min(NUMBERS[client.versions[0]], 0x0303)
    body = struct.pack(">H", newest) + bytes(range(32))
    body += vector(bytes(32) if "1.3" in client.versions else b"", 1)
    # With the signalling suite of secure renegotiation (RFC 5746, section 3.3).
    body += vector(numbers((*client.suites, 0x00FF))) + vector(b"\x00", 1)
    found = extensions(client, name)
    body += vector(found) if found else b""
    return b"\x16\x03" + bytes([min(newest & 0xFF, 1)]) + vector(b"\x01" + vector(body, 3))


def ask(address: tuple[str, int], client: Client, name: str = "localhost") -> Answer | None:
    """The server's answer; None for an alert or the end of the connection."""
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(client_hello(client, name))
        stream = connection.makefile("rb")
        try:
            head = stream.read(5)
            record = stream.read(int.from_bytes(head[3:5]))
        except ConnectionError:
            return None
    if len(head) < 5 or head[0] != 22 or record[0] != 2:
        return None
    return server_hello(record[4:])


def server_hello(body: bytes) -> Answer:
    session = body[34]
    suite = int.from_bytes(body[35 + session : 37 + session])
    found = {}
    rest = body[40 + session :]
    while len(rest) >= 4:
        number, length = struct.unpack(">HH", rest[:4])
        found[number] = rest[4 : 4 + length]
        rest = rest[4 + length :]
    version = int.from_bytes(found.get(43, body[:2]))
    group = int.from_bytes(found[51][:2]) if 51 in found else None
    return Answer(NAMES[version], suite, group)
