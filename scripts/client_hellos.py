"""Converts recorded ClientHellos to entries of `advice/clients.toml`, on standard output.

`client_hellos.py NAME RELEASED SOURCE FILE` reads one ClientHello from FILE: TLS records in hex, as
from a packet capture or a listening socket. `client_hellos.py --testssl FILE KEY...` reads clients
from testssl.sh's `etc/client-simulation.txt` by their keys (`short`).
"""

import re
import sys
from pathlib import Path

VERSIONS = {0x0300: "SSL 3.0", 0x0301: "1.0", 0x0302: "1.1", 0x0303: "1.2", 0x0304: "1.3"}

# Signalling values, which are not suites (RFC 5746, RFC 7507).
SIGNALS = (0x00FF, 0x5600)

SERVER_NAME, GROUPS, SCHEMES, ALPN, SUPPORTED_VERSIONS, KEY_SHARE = 0, 10, 13, 16, 43, 51


class Reader:
    """Bytes, read from the front. Raises IndexError at their end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        """The next bytes."""
        if self.at + size > len(self.data):
            raise IndexError("the ClientHello is cut off")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, size: int) -> int:
        """The next bytes as a number."""
        return int.from_bytes(self.take(size))

    def vector(self, length_bytes: int) -> "Reader":
        """The next bytes, after a length prefix."""
        return Reader(self.take(self.number(length_bytes)))

    def more(self) -> bool:
        """Whether any bytes are left."""
        return self.at < len(self.data)

    def numbers(self, size: int = 2) -> list[int]:
        """All remaining numbers, without meaningless values (GREASE, RFC 8701)."""
        found = []
        while self.more():
            number = self.number(size)
            if number & 0x0F0F != 0x0A0A or number >> 8 != number & 0xFF or size != 2:
                found.append(number)
        return found


def handshake(records: bytes) -> bytes:
    """The body of the ClientHello in these records."""
    read, message = Reader(records), b""
    while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4]):
        read.take(3)
        message += read.vector(2).data
    whole = Reader(message)
    whole.take(1)
    return whole.vector(3).data


def entry(records: bytes, oldest: int | None = None) -> dict[str, object]:
    """The offer of a ClientHello. `oldest`: the oldest version that its client accepts."""
    if records[0] & 0x80:
        return old_entry(records, oldest)
    hello = Reader(handshake(records))
    newest = hello.number(2)
    hello.take(32)
    hello.vector(1)
    suites = [suite for suite in hello.vector(2).numbers() if suite not in SIGNALS]
    hello.vector(1)
    extensions = extensions_of(hello)
    if SUPPORTED_VERSIONS in extensions:
        versions = extensions[SUPPORTED_VERSIONS].vector(1).numbers()
    else:
        versions = [number for number in VERSIONS if (oldest or newest) <= number <= newest]
    found: dict[str, object] = {"versions": names_of(versions), "suites": suites}
    for name, number in (("groups", GROUPS), ("schemes", SCHEMES)):
        if number in extensions:
            found[name] = extensions[number].vector(2).numbers()
    if KEY_SHARE in extensions:
        found["shares"] = shares_of(extensions[KEY_SHARE].vector(2))
    found["sni"] = SERVER_NAME in extensions
    found["alpn"] = protocols_of(extensions[ALPN].vector(2)) if ALPN in extensions else []
    return found


def extensions_of(hello: Reader) -> dict[int, Reader]:
    """The extensions' contents, by number."""
    found: dict[int, Reader] = {}
    if hello.more():
        listed = hello.vector(2)
        while listed.more():
            number = listed.number(2)
            found[number] = listed.vector(2)
    return found


def shares_of(listed: Reader) -> list[int]:
    """The groups of the key shares; GREASE's have one byte."""
    found = []
    while listed.more():
        group = listed.number(2)
        if len(listed.vector(2).data) > 1:
            found.append(group)
    return found


def protocols_of(listed: Reader) -> list[str]:
    """The application protocols, without GREASE."""
    found = []
    while listed.more():
        name = listed.vector(1).data
        if len(name) != 2 or name[0] & 0x0F != 0x0A:
            found.append(name.decode("ascii"))
    return found


def old_entry(records: bytes, oldest: int | None) -> dict[str, object]:
    """The offer of a ClientHello in SSL 2.0's form (RFC 5246, appendix E.2)."""
    hello = Reader(records[3:])
    newest = hello.number(2)
    size, _, _ = (hello.number(2) for _ in range(3))
    suites = Reader(hello.take(size)).numbers(3)
    versions = [number for number in VERSIONS if (oldest or newest) <= number <= newest]
    # Suites of SSL 2.0 itself have a nonzero first byte.
    suites = [suite for suite in suites if suite <= 0xFFFF and suite not in SIGNALS]
    return {"versions": names_of(versions), "suites": suites, "sni": False, "alpn": []}


def names_of(versions: list[int]) -> list[str]:
    """The versions' names, newest first; drafts are left out."""
    return [VERSIONS[number] for number in sorted(versions, reverse=True) if number in VERSIONS]


def show(name: str, released: str, source: str, found: dict[str, object]) -> str:
    """An entry as TOML."""
    lines = ["[[client]]", f'name = "{name}"', f"released = {released}", f'source = "{source}"']
    for key, value in found.items():
        if key in ("suites", "groups", "schemes", "shares"):
            assert isinstance(value, list)
            text = "[" + ", ".join(f"0x{number:04x}" for number in value) + "]"
        else:
            text = str(value).lower() if isinstance(value, bool) else str(value).replace("'", '"')
        lines += wrapped(f"{key} = {text}")
    return "\n".join(lines) + "\n"


def wrapped(line: str) -> list[str]:
    """A line of a list, split into lines of at most 100 columns."""
    if len(line) <= 100:
        return [line]
    head, items = line.split("[", 1)
    lines, current = [f"{head}["], "  "
    for item in items.rstrip("]").split(", "):
        if len(current) + len(item) > 98:
            lines.append(current.rstrip())
            current = "  "
        current += f"{item}, "
    return [*lines, current.rstrip(" "), "]"]


def testssl(path: str, keys: list[str]) -> None:
    """Prints the clients of testssl.sh with these keys, in this order."""
    blocks = {}
    for block in Path(path).read_text("utf-8", "replace").split("names+=(")[1:]:
        fields = dict(re.findall(r"^\s*(\w+)\+=\((.*)\)\s*$", block, re.MULTILINE))
        fields["names"] = block.split('"')[1]
        blocks[fields["short"].strip('"')] = fields
    for key in keys:
        fields = blocks[key.partition("=")[0]]
        records = bytes.fromhex(fields["handshakebytes"].strip('"'))
        found = entry(records, int(fields["lowest_protocol"].strip('"'), 16))
        if int(fields["maxDhBits"]) > 0:
            found["dh_bits_at_most"] = int(fields["maxDhBits"])
        sys.stdout.write(show(fields["names"], key.partition("=")[2], "testssl", found) + "\n")


def main() -> None:
    """The command line, as described in the module's docstring."""
    if sys.argv[1] == "--testssl":
        testssl(sys.argv[2], sys.argv[3:])
    else:
        name, released, source, path = sys.argv[1:]
        records = bytes.fromhex(Path(path).read_text("ascii"))
        sys.stdout.write(show(name, released, source, entry(records)) + "\n")


if __name__ == "__main__":
    main()
