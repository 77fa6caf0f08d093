"""What users write on a command line: names, URLs, addresses, whole commands."""

import difflib
import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from socket import AddressFamily
from urllib.parse import urlsplit

from tlslab.domain.errors import UsageError

SCHEME = "https://"


def is_url(server: str) -> bool:
    """Whether a server is named by a URL; otherwise by the name of a managed target."""
    return "://" in server


def canonical(url: str) -> str:
    """The URL with scheme and host in lower case, and at least `/` as its path.

    Equal servers have equal texts this way (RFC 3986, 6.2.2.1 and 6.2.3).
    """
    scheme, _, after = url.partition("://")
    place = urlsplit(url).netloc
    user, sign, host = place.rpartition("@")
    return f"{scheme.lower()}://{user}{sign}{host.lower()}{after[len(place) :] or '/'}"


def short(url: str) -> str:
    """The URL without its scheme, and without the path `/` of a bare origin: `localhost:8443`."""
    rest = url.removeprefix(SCHEME)
    return rest[:-1] if rest.endswith("/") and rest.count("/") == 1 else rest


# With a smaller share of common characters the name is another word, not a typing error.
_ALIKE = 0.6


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, whatever the case; None when none is like it."""
    by_lower = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=_ALIKE)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'nginx'?`; empty when no known name is like this one."""
    found = nearest(name, known)
    return f"did you mean '{found}'?" if found else ""


# Options that belong to a single run: another run needs a folder of its own, resumes nothing, and
# need not be watched.
ONE_RUN = ("--out", "--resume", "--metrics", "--live")


def without_options(command: Sequence[str], names: Sequence[str]) -> list[str]:
    """A command line without these options and their values."""
    kept: list[str] = []
    skip = False
    for word in command:
        if skip:
            skip = False
        elif word in names:
            skip = True
        elif not word.startswith(tuple(f"{name}=" for name in names)):
            kept.append(word)
    return kept


def without_flags(command: Sequence[str], names: Sequence[str]) -> list[str]:
    """A command line without these options, which have no value."""
    return [word for word in command if word not in names]


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


# The command itself: an ssh connection, and an orderly shutdown of the server.
TIMEOUT_S = 60.0

# The time within which the server must be reachable again.
READY_S = 60.0

# A server that reloads its configuration serves with the old one for a moment.
SETTLE_S = 1.0


class ExportFormat(StrEnum):
    """File formats."""

    parquet = "parquet"
    csv = "csv"
    hgrm = "hgrm"
