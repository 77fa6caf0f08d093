"""The lab's own network namespaces, each joined to this machine by a pair of virtual links.

The name of a namespace contains the pid and the start time of its lab, so that the next lab finds
and removes the namespaces of a killed lab. The numbers in the names of namespaces and links are not
reused, because the kernel needs some time to end a namespace. Needs root and iproute2; `obstacle`
returns what is missing.
"""

import ipaddress
import itertools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tlslab.domain.errors import CannotRunError

# Addresses for benchmarks, which are not routed (RFC 2544, appendix C.2.2).
POOL = ipaddress.IPv4Network("198.18.0.0/16")

_SUBNETS = POOL.num_addresses // 4

_NAME = re.compile(r"tlslab-(\d+)-(\d+)-(\d+)")

_COMMAND_S = 20

# The numbers of this lab's namespaces; 0 is the one for the test.
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Namespace:
    """The names of a namespace and of the link to it.

    The addresses in it and of this machine's end.
    """

    name: str
    link: str
    address: str
    here: str

    def enter(self) -> tuple[str, ...]:
        """The prefix of a command that runs in the namespace."""
        return ("nsenter", f"--net=/run/netns/{self.name}", "--")


def obstacle() -> str | None:
    """The reason that the lab cannot make namespaces here; None if it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "nsenter"):
        if _find(program) is None:
            return f"network namespaces need the program {program}"
    probe = _name(0)
    tried = _ip("netns", "add", probe)
    if tried.returncode != 0:
        return f"this machine makes no network namespaces ({tried.stderr.strip()[:120]})"
    _ip("netns", "del", probe)
    return None


@contextmanager
def namespaces(count: int) -> Iterator[tuple[Namespace, ...]]:
    """The requested number of namespaces, removed at the end. Raises CannotRunError."""
    remove_forsaken()
    made: list[Namespace] = []
    try:
        for subnet in itertools.islice(_free_subnets(), count):
            number = next(_numbers)
            here, there = (str(host) for host in subnet.hosts())
            made.append(Namespace(_name(number), _link(number), there, here))
            _make(made[-1], subnet.prefixlen)
        yield tuple(made)
    finally:
        for namespace in made:
            _ip("link", "del", namespace.link)
            _ip("netns", "del", namespace.name)


def remove_forsaken() -> int:
    """Removes the namespaces of labs that have ended; returns their number."""
    removed = 0
    for line in _ip("netns", "list").stdout.splitlines():
        match = _NAME.match(line)
        if match and _began(int(match[1])) != int(match[2]):
            removed += _ip("netns", "del", match[0]).returncode == 0
    return removed


def _make(namespace: Namespace, prefix: int) -> None:
    link = namespace.link
    steps = (
        ("netns", "add", namespace.name),
        ("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace.name),
        ("address", "add", f"{namespace.here}/{prefix}", "dev", link),
        ("link", "set", link, "up"),
        ("-n", namespace.name, "address", "add", f"{namespace.address}/{prefix}", "dev", "eth0"),
        ("-n", namespace.name, "link", "set", "eth0", "up"),
        ("-n", namespace.name, "link", "set", "lo", "up"),
    )
    for step in steps:
        done = _ip(*step)
        if done.returncode != 0:
            why = " ".join(done.stderr.split())[:200]
            raise CannotRunError(f"ip {' '.join(step)}: {why}", "run the lab as root, or without")


def _free_subnets() -> Iterator[ipaddress.IPv4Network]:
    """Subnets of two hosts in which this machine has no address."""
    reported = json.loads(_ip("-json", "-4", "address", "show").stdout or "[]")
    taken = [
        ipaddress.IPv4Address(address["local"])
        for link in reported
        for address in link.get("addr_info", [])
    ]
    # Labs that start at the same time start their searches at different subnets.
    for step in range(_SUBNETS):
        number = (os.getpid() * 8 + step) % _SUBNETS
        subnet = ipaddress.IPv4Network((int(POOL.network_address) + 4 * number, 30))
        if not any(address in subnet for address in taken):
            yield subnet


def _name(number: int) -> str:
    return f"tlslab-{os.getpid()}-{_began(os.getpid())}-{number}"


def _link(number: int) -> str:
    """The name of a link; Linux allows 15 characters, and a pid may have seven."""
    return f"tls{os.getpid():x}-{number:x}"


def _began(pid: int) -> int:
    """A process's start time in ticks since the machine's start; 0 without such a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[19])
    except (OSError, IndexError, ValueError):
        return 0


def _find(program: str) -> str | None:
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin:/usr/bin")


def _ip(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = _find("ip")
    if program is None:
        return subprocess.CompletedProcess(arguments, 127, "", "ip is not installed")
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=_COMMAND_S, check=False
    )
