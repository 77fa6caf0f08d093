"""The addresses that a user gives for metrics and for the page."""

import ipaddress
from dataclasses import dataclass
from socket import AddressFamily

from tlslab.domain.errors import UsageError

LOOPBACK = "127.0.0.1"

# The options of commands that take such addresses.
METRICS_OPTION = "--metrics"
PAGE_OPTION = "--live"


@dataclass(frozen=True)
class Address:
    """An address to listen on; port 0 is any free one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def family(self) -> AddressFamily:
        """IPv6 for an IPv6 address, otherwise IPv4."""
        return AddressFamily.AF_INET6 if ":" in self.host else AddressFamily.AF_INET

    @property
    def shown(self) -> str:
        """`HOST:PORT`, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, option: str) -> Address:
    """`HOST:PORT`, or `:PORT` on loopback. Raises UsageError."""
    host, colon, port = text.strip().rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    is_port = port.isascii() and port.isdigit() and int(port) < 1 << 16
    if not colon or not is_port or (":" in bare and bare == host):
        raise UsageError(f"{option} {text}: not an address", "write HOST:PORT, like 127.0.0.1:9464")
    return Address(bare or LOOPBACK, int(port))


def not_listening(option: str, address: Address, error: OSError) -> UsageError:
    """The error that nothing can listen there, with the reason."""
    words = error.strerror or str(error)
    return UsageError(
        f"{option} {address.shown}: cannot listen there: {words}",
        "take another port; port 0 takes any free one",
    )
