"""Hosts for tests: namespaces of this machine, each with its own network, processes and /tmp/ray.

A host is a process (`sleep`) that is init of a pid namespace: if it is killed, the kernel kills all
other processes of the host. All hosts are on one bridge, in a separate network namespace: several
tests may use the same addresses. Nothing outlives the test: the kernel kills init when the test's
process dies, and a network namespace with its links ends with its last process.
"""

import contextlib
import ipaddress
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import psutil

from tlslab.servers.guard import bound
from tlslab.servers.namespaces import obstacle

# With the value 1, missing namespaces are an error: tests may not be skipped.
REQUIRED = "TLSLAB_REQUIRE_NAMESPACES"

NETWORK = ipaddress.IPv4Network("10.77.0.0/24")
PORT = 6379

# Enough for a program of some megabytes, in the host's own /dev/shm.
OBJECT_STORE_BYTES = 80_000_000

START_S = 60
COMMAND_S = 20

# Settings of a node that works only for the lab.
RAY_VARIABLES = {
    "RAY_worker_niceness": "0",
    "RAY_worker_oom_score_adjustment": "0",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_enable_worker_prestart": "0",
    "RAY_event_stats": "0",
}

RAY_OPTIONS = (
    "--disable-usage-stats",
    "--include-log-monitor=false",
    f"--object-store-memory={OBJECT_STORE_BYTES}",
    "--block",
)

# The arguments of this command are the host's name. /sys stays that of this machine, as under
# Docker.
_BOOT = (
    'hostname "$0" && ip link set lo up && mkdir -p /tmp/ray '
    "&& mount -t tmpfs tmpfs /tmp/ray && mount -t tmpfs tmpfs /dev/shm && exec sleep infinity"
)


@dataclass(frozen=True)
class Port:
    """A port of the bridge in the network namespace of a process."""

    switch: psutil.Process
    link: str

    def set(self, state: str) -> None:
        """Sets the port `up` or `down`."""
        _ip(self.switch, "link", "set", self.link, state)


@dataclass
class NamespaceHost:
    """A host: its init, by the process id on this machine, and its port of the bridge."""

    name: str
    address: str
    port: "Port"
    init: psutil.Process
    folder: Path
    token: str | None
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def enter(self) -> list[str]:
        """The prefix of a command that runs on the host."""
        flags = ["--net", "--uts", "--mount", "--pid", "--time"]
        return [*bound("KILL"), "nsenter", f"--target={self.init.pid}", *flags, "--"]

    def variables(self) -> dict[str, str]:
        """The environment of programs on the host."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        token = (
            {} if self.token is None else {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token}
        )
        tests = str(Path(__file__).parent.parent)
        path = ":".join(filter(None, (os.environ.get("PYTHONPATH"), tests)))
        own = {"HOME": str(self.folder), "PYTHONPATH": path}
        return {**kept, **RAY_VARIABLES, **token, **own}

    def start(self, *command: str, **variables: str) -> subprocess.Popen[str]:
        """Starts a command on the host; its output is kept in a file."""
        with (self.folder / f"{len(self.started)}.log").open("w") as log:
            child = subprocess.Popen(
                [*self.enter(), *command],
                env=self.variables() | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
            )
        self.started.append(child)
        return child

    def said(self, child: subprocess.Popen[str] | None = None) -> str:
        """The last output of all commands that were started on the host, or of one of them."""
        children = self.started if child is None else [child]
        return "\n".join(self._log(each).read_text()[-2000:] for each in children)

    def _log(self, child: subprocess.Popen[str]) -> Path:
        return self.folder / f"{self.started.index(child)}.log"

    def start_ray(
        self, head: str | None = None, processors: int = 1, *more: str, **variables: str
    ) -> None:
        """Makes the host a node of the cluster of `head`, or the head of a new cluster."""
        self.await_ray(self.begin_ray(head, processors, *more, **variables))

    def begin_ray(
        self, head: str | None = None, processors: int = 1, *more: str, **variables: str
    ) -> subprocess.Popen[str]:
        """Starts the node; `await_ray` waits for it."""
        role = ["--head", f"--port={PORT}", "--include-dashboard=false"]
        if head is not None:
            role = [f"--address={head}:{PORT}"]
        ray = str(Path(sys.executable).parent / "ray")
        place = [f"--node-ip-address={self.address}", f"--num-cpus={processors}"]
        return self.start(ray, "start", *role, *place, *RAY_OPTIONS, *more, **variables)

    def await_ray(self, node: subprocess.Popen[str]) -> None:
        """Waits until the node is up."""
        deadline = time.monotonic() + START_S
        while "runtime started" not in self.said(node):
            assert node.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.1)

    def processes(self) -> list[psutil.Process]:
        """All processes on the host except its init."""
        if not self.init.is_running():
            return []
        space = os.readlink(f"/proc/{self.init.pid}/ns/pid")
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                here = os.readlink(f"/proc/{process.pid}/ns/pid") == space
                if here and process != self.init and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def named(self, name: str) -> list[psutil.Process]:
        """The processes of the host whose program has that name."""
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                if process.name() == name:
                    found.append(process)
        return found

    def die(self) -> None:
        """Simulates a power loss of the host."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self.init.kill()
            self.init.wait(COMMAND_S)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to all processes of the host: SIGSTOP freezes it."""
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def cut(self) -> None:
        """Takes the host's link down. The host does not notice."""
        self.port.set("down")

    def mend(self) -> None:
        """Takes the host's link up again."""
        self.port.set("up")

    def ip(self, *arguments: str) -> None:
        """ip(8) on the host."""
        _ip(self.init, *arguments)

    def shows(self, content: Path, place: str) -> None:
        """Replaces a file of the host by this one, for this host only."""
        command = [*self.enter(), "mount", "--bind", str(content), place]
        subprocess.run(command, check=True, timeout=COMMAND_S)

    def unmount(self, place: str) -> None:
        """Restores the host's own file."""
        subprocess.run([*self.enter(), "umount", place], check=True, timeout=COMMAND_S)


class Hosts:
    """A network of hosts that lives as long as the block."""

    def __init__(self, folder: Path, token: str | None = None) -> None:
        self._folder = folder
        self._token = token
        self._holders: list[subprocess.Popen[bytes]] = []
        self._switch: psutil.Process | None = None
        self.hosts: list[NamespaceHost] = []

    def __enter__(self) -> "Hosts":
        self._switch = self._boot("switch")
        _ip(self._switch, "link", "add", "bridge", "type", "bridge")
        _ip(self._switch, "link", "set", "bridge", "up")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # nsenter(1) first: if it was stopped with its child it would never collect the exit code,
        # and an init ends after all others.
        for host in self.hosts:
            for child in host.started:
                child.kill()
                child.wait()
        for host in self.hosts:
            host.die()
        for holder in self._holders:
            holder.kill()
            holder.wait()

    def add(self, name: str, monotonic_s: int = 0) -> NamespaceHost:
        """Adds a host; its CLOCK_MONOTONIC is `monotonic_s` seconds ahead of this machine's."""
        assert self._switch is not None
        folder = self._folder / name
        folder.mkdir()
        init = self._boot(name, monotonic_s)
        number = len(self.hosts) + 1
        address, port = str(NETWORK[number]), Port(self._switch, f"port{number}")
        there = ("peer", "name", "eth0", "netns", str(init.pid))
        _ip(self._switch, "link", "add", port.link, "type", "veth", *there)
        _ip(self._switch, "link", "set", port.link, "master", "bridge")
        _ip(init, "address", "add", f"{address}/{NETWORK.prefixlen}", "dev", "eth0")
        _ip(init, "link", "set", "eth0", "up")
        port.set("up")
        host = NamespaceHost(name, address, port, init, folder, self._token)
        self.hosts.append(host)
        return host

    def _boot(self, name: str, monotonic_s: int = 0) -> psutil.Process:
        """Starts the init of a host."""
        holder = subprocess.Popen(
            [*_unshare(monotonic_s), "sh", "-c", _BOOT, name],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # unshare(1) reports its child's death
        )
        self._holders.append(holder)
        return _init(holder)


@contextlib.contextmanager
def cluster(
    folder: Path, generators: Sequence[str], token: str = "a token of a test"
) -> Iterator[tuple[Hosts, list[NamespaceHost]]]:
    """A head without processors for Ray, and generators; all are nodes of one Ray cluster."""
    with Hosts(folder, token) as hosts:
        head = hosts.add("head")
        head.start_ray(processors=0)
        joining = [hosts.add(name) for name in generators]
        nodes = [(host, host.begin_ray(head.address)) for host in joining]
        for host, node in nodes:
            host.await_ray(node)
        yield hosts, hosts.hosts


def lacking() -> str | None:
    """The reason why this machine has no such hosts; None if it has them.

    Raises RuntimeError if they are required.
    """
    why = obstacle()
    if why is not None and os.environ.get(REQUIRED) == "1":
        raise RuntimeError(f"{REQUIRED}=1, but {why}")
    return why


def _unshare(monotonic_s: int) -> list[str]:
    spaces = ["--net", "--mount", "--uts", "--pid", "--time"]
    ends = ["--fork", "--kill-child=KILL", "--mount-proc"]
    clock = [f"--monotonic={monotonic_s}"]
    return [*bound("KILL"), "unshare", *spaces, *ends, *clock, "--"]


def _init(holder: subprocess.Popen[bytes]) -> psutil.Process:
    """The init of a host once it is up."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and holder.poll() is None:
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(holder.pid).children(recursive=True):
                if child.name() == "sleep":
                    return child
        time.sleep(0.01)
    raise AssertionError("no host comes up")


def _ip(where: psutil.Process, *arguments: str) -> None:
    """ip(8) in the network namespace of a process."""
    command = ["nsenter", f"--net=/proc/{where.pid}/ns/net", "--", "ip", *arguments]
    subprocess.run(command, check=True, timeout=COMMAND_S)
