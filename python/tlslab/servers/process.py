"""A server's process tree: started in a session of its own, ended by process ids."""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from tlslab.domain.errors import CannotRunError
from tlslab.servers.guard import Guard

# The time for an orderly end before the rest is killed.
PATIENCE_S = 3.0

# The largest number of characters of a server's own words in an error message.
WORDS = 400


MOUNT_PROC = "mount it: `mount -t proc proc /proc`"


def proc_fault() -> str:
    """The fault of /proc, where the lab finds what it starts, measures and ends; empty without one.

    An entry may be missing, or be that of a process with the same number in another PID namespace.
    """
    try:
        found = os.readlink("/proc/self")
        with open("/proc/stat", "rb"), open("/proc/self/stat", "rb"):
            pass
    except OSError as error:
        return f"/proc cannot be read ({error.strerror})"
    if found != str(os.getpid()):
        return "/proc shows the processes of another PID namespace"
    return ""


class Processes(Protocol):
    """All processes of a started target."""

    @property
    def pid(self) -> int:
        """The first process's id."""
        ...

    def alive(self) -> bool:
        """Whether the target still serves."""
        ...

    def tree(self) -> list[psutil.Process]:
        """The running processes; empty if the target has ended."""
        ...

    def last_words(self) -> str:
        """The end of the target's standard error, on one line."""
        ...

    def stop(self) -> None:
        """Ends all processes."""
        ...


class ServerProcess:
    """A started server and its children.

    Its standard error goes to a file, so that a verbose server never blocks on a pipe that nobody
    reads.
    """

    def __init__(self, command: Sequence[str], log: Path, capture: bool = False) -> None:
        if fault := proc_fault():
            raise CannotRunError(fault, MOUNT_PROC)
        self.log = log
        log.write_bytes(b"")
        # Opened for appending, because some servers open their standard error a second time.
        with log.open("ab") as errors:
            self.popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if capture else errors,
                stderr=errors,
                # A Ctrl-C on the terminal goes to the lab, which then stops the server itself.
                start_new_session=True,
            )
        self.pid = self.popen.pid
        self._guard = Guard(self.pid)

    def alive(self) -> bool:
        """Whether the server's first process still runs."""
        return self.popen.poll() is None

    def tree(self) -> list[psutil.Process]:
        """The server's running processes, the first one at the head; empty if that has ended."""
        if not self.alive():
            return []
        try:
            root = psutil.Process(self.pid)
            return [root, *filter(runs, root.children(recursive=True))]
        except psutil.NoSuchProcess:
            return []

    def last_words(self) -> str:
        """The end of the server's standard error, on one line."""
        try:
            text = self.log.read_bytes()[-4 * WORDS :].decode("utf-8", "replace")
        except OSError:
            return ""
        return " ".join(text.split())[-WORDS:]

    def stop(self) -> None:
        """SIGTERM to the first process, and SIGKILL to all that remain after a while.

        The first process ends its children in order, if it can. Children that have lost it are
        still in its session, and get the SIGTERM themselves.
        """
        members = self._session()
        for process in members if not self.alive() else members[:1]:
            _signal(process, kill=False)
        for process in self._wait(members):
            _signal(process, kill=True)
        self._wait(members)
        self.popen.wait()
        self._guard.dismiss()
        if self.popen.stdout is not None:
            self.popen.stdout.close()

    def _session(self) -> list[psutil.Process]:
        """All running processes of the server's session, the first one at the head if it runs."""
        members = []
        for pid in sorted(psutil.pids(), key=lambda pid: pid != self.pid):
            try:
                if os.getsid(pid) == self.pid:
                    members.append(psutil.Process(pid))
            except (ProcessLookupError, psutil.NoSuchProcess):
                continue
        return [process for process in members if runs(process)]

    def _wait(self, members: list[psutil.Process]) -> list[psutil.Process]:
        """Waits until all have ended, up to a limit; returns those that have not."""
        deadline = time.monotonic() + PATIENCE_S
        while (left := [process for process in members if runs(process)]) and self._patient(
            deadline
        ):
            time.sleep(0.01)
        return left

    def _patient(self, deadline: float) -> bool:
        self.popen.poll()  # Reaps the first process, which would otherwise stay as a zombie.
        return time.monotonic() < deadline


@dataclass(frozen=True)
class ServerGroup:
    """Servers that serve together, with the one that clients connect to at the head."""

    servers: tuple[Processes, ...]

    @property
    def pid(self) -> int:
        """The first process of the server that clients connect to."""
        return self.servers[0].pid

    def alive(self) -> bool:
        """Whether all still run."""
        return all(server.alive() for server in self.servers)

    def tree(self) -> list[psutil.Process]:
        """The running processes of all; empty if one of the servers has ended."""
        return [p for server in self.servers for p in server.tree()] if self.alive() else []

    def last_words(self) -> str:
        """The last words of each server that wrote any."""
        return " | ".join(filter(None, (server.last_words() for server in self.servers)))

    def stop(self) -> None:
        """Ends one after the other, the front first."""
        for server in self.servers:
            server.stop()


def runs(process: psutil.Process) -> bool:
    """Whether a process exists and does not merely wait to be reaped."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _signal(process: psutil.Process, kill: bool) -> None:
    try:
        if kill:
            process.kill()
        else:
            process.terminate()
    except psutil.NoSuchProcess:
        pass


def wait_until(ready: Callable[[], bool], process: ServerProcess, seconds: float) -> bool:
    """Polls at short intervals until ready, dead or too late; returns whether ready."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.alive():
        if ready():
            return True
        time.sleep(0.01)
    return False
