"""The processes on this machine that listen on a target's address, found by the socket."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psutil

from tlslab.servers.process import runs

# Programs that listen on behalf of another program: their processor time is not the server's.
FORWARDERS = (
    "conmon", "docker-proxy", "gvproxy", "inetd", "kubectl", "pasta", "rootlessport", "slirp4netns",
    "socat", "ssh", "sshd", "xinetd",
)  # fmt: skip

# Process 1 holds the sockets of services that it starts on demand (systemd.socket(5)).
INIT = 1

# The largest number of displayed characters of a program's name.
NAME_LIMIT = 32


ELSEWHERE = "the server is on another host: see --server-metrics"


class NotFoundError(Exception):
    """No process was found whose time can be counted; the message is the reason."""


Address = tuple[str, int]


@dataclass(frozen=True)
class Listener:
    """The processes that hold a listening socket, without those that another of them started."""

    roots: tuple[psutil.Process, ...]
    program: str

    def tree(self) -> list[psutil.Process]:
        """These processes and their running descendants.

        If this process is one of them, it and its descendants are left out.
        """
        own = os.getpid()
        found = {each.pid: each for each in _descendants(self.roots)}
        if own not in found:
            return list(found.values())
        return [each for pid, each in found.items() if pid != own and own not in _ancestors(each)]


def parse_place(text: str) -> Address:
    """`127.0.0.1:8443` or `[::1]:8443`, the engine's notation of an address."""
    host, _, port = text.rpartition(":")
    return host.strip("[]").partition("%")[0], int(port)


# How often the table is read: the process that it names for a socket may be a child that has ended.
LOOKS = 5


class _EndedError(Exception):
    """All processes that the table named have ended."""


def find_listener(address: Address) -> Listener:
    """The processes that accept connections to an address.

    Raises NotFoundError: the address is not this machine's, no process listens there, it belongs to
    another user, or it only forwards.
    """
    if not _is_local(address[0]):
        raise NotFoundError(ELSEWHERE)
    for _ in range(LOOKS):
        found = [each for each in _listening() if _accepts(each, address)]
        if not found:
            raise NotFoundError("no process of this machine listens there")
        try:
            return _listener(found, address)
        except _EndedError:
            continue
    raise NotFoundError("the processes that listen there end too soon to be read")


def _listening() -> Iterator[Any]:
    try:
        connections = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError) as error:
        raise NotFoundError(f"the kernel's table of sockets cannot be read: {error}") from None
    return (each for each in connections if each.status == psutil.CONN_LISTEN)


def _accepts(listening: Any, address: Address) -> bool:
    host, port = address
    if not listening.laddr or listening.laddr.port != port:
        return False
    own = listening.laddr.ip.removeprefix("::ffff:")
    return own in (host, "::") or (own == "0.0.0.0" and ":" not in host)


def _listener(found: list[Any], address: Address) -> Listener:
    where = f"{address[0]} port {address[1]}"
    pids = _holders(found)
    if pids == {INIT}:
        raise NotFoundError(f"process 1 holds the socket of {where} and starts the server itself")
    pids.discard(INIT)
    holders = []
    for pid in sorted(pids):
        try:
            holders.append(psutil.Process(pid))
        except psutil.NoSuchProcess:
            continue
    if not holders and pids:
        raise _EndedError
    if not holders:
        raise NotFoundError(f"the process at {where} is another user's: run as that user or root")
    roots = tuple(each for each in holders if not _ancestors(each) & pids)
    try:
        name = roots[0].name()[:NAME_LIMIT]
        program = "".join(letter if letter.isprintable() else "?" for letter in name)
    except psutil.Error:
        raise NotFoundError(f"the process at {where} has ended") from None
    if program in FORWARDERS:
        raise NotFoundError(f"{program} listens at {where} for a server that is elsewhere")
    return Listener(roots, program)


def _holders(found: list[Any]) -> set[int]:
    """All processes that have one of the sockets open; psutil names only one for each socket.

    Raises _EndedError if all that it named have closed it by now: a process that has ended is still
    there until its parent has waited for it.
    """
    links = {each.pid: _link(f"/proc/{each.pid}/fd/{each.fd}") for each in found if each.pid}
    holders = {pid for pid, link in links.items() if link}
    sockets = set(links.values()) - {""}
    if links and not holders:
        raise _EndedError
    for pid in psutil.pids() if sockets else ():
        folder = f"/proc/{pid}/fd"
        try:
            if any(_link(f"{folder}/{name}") in sockets for name in os.listdir(folder)):
                holders.add(pid)
        except OSError:
            continue
    return holders


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _descendants(roots: tuple[psutil.Process, ...]) -> Iterator[psutil.Process]:
    for root in roots:
        try:
            yield from filter(runs, (root, *root.children(recursive=True)))
        except psutil.NoSuchProcess:
            continue


def _ancestors(process: psutil.Process) -> set[int]:
    try:
        return {each.pid for each in process.parents()}
    except psutil.Error:
        return set()


def _is_local(host: str) -> bool:
    """Whether an address belongs to this machine."""
    if host == "::1" or host.startswith(("127.", "::ffff:127.")):
        return True
    own = (each for card in psutil.net_if_addrs().values() for each in card)
    return any(each.address.partition("%")[0] == host for each in own)
