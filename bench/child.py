"""Runs one generator, pinned; measures its processor time, and the busy shares of processors."""

import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psutil

from tlslab.domain.errors import CannotRunError
from tlslab.lab.metering.processes import read_process, used
from tlslab.servers.base import pinned

PROCESSOR = 1

# The part of the run's planned time in which "busy" is read: without the start and the end.
WINDOW = (0.25, 0.85)

# A generator that exceeds its time by this much is killed.
PATIENCE_S = 30.0


@dataclass(frozen=True)
class Busy:
    """Busy shares (0 to 1) in the middle of a run: two processors, and the server's own process."""

    server_processor: float
    generator_processor: float
    server_process: float


@dataclass(frozen=True)
class Run:
    """A child's output, and the processor time of all its threads, in microseconds."""

    output: str
    code: int
    seconds: float
    user_us: float
    system_us: float
    busy: Busy

    @property
    def cpu_us(self) -> float:
        """User and system time together."""
        return self.user_us + self.system_us

    @property
    def own_share(self) -> float:
        """The process's own busy share (0 to 1) of one processor over its whole life."""
        return self.cpu_us / 1e6 / self.seconds


def run(command: Sequence[str], seconds: float, server: int) -> Run:
    """Runs a command on the generator's processor; `server` is the id of nginx's worker.

    The kernel reports the processor time when the child is reaped (wait4): of all threads of the
    child, from exec to exit, start-up included. Output goes to a file, so that the child never
    waits for a reader. Raises CannotRunError if the child does not end.
    """
    with tempfile.TemporaryFile() as output:
        start = time.monotonic()
        child = subprocess.Popen(
            pinned(command, [PROCESSOR], "KILL"),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            busy = _watch(start, seconds, server)
            status, usage = _reap(child.pid, start + seconds + PATIENCE_S)
        except BaseException:
            child.kill()
            child.wait()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        ended = time.monotonic()
        output.seek(0)
        return Run(
            output=output.read().decode("utf-8", "replace"),
            code=child.returncode,
            seconds=ended - start,
            user_us=usage.ru_utime * 1e6,
            system_us=usage.ru_stime * 1e6,
            busy=busy,
        )


def _reap(pid: int, deadline: float) -> tuple[int, resource.struct_rusage]:
    """Waits for the child's end; returns its status and resource use. Raises CannotRunError."""
    while time.monotonic() < deadline:
        found, status, usage = os.wait4(pid, os.WNOHANG)
        if found:
            return status, usage
        time.sleep(0.02)
    raise CannotRunError(f"process {pid} has not ended in time")


def _watch(start: float, seconds: float, server: int) -> Busy:
    """Sleeps through the run, and reads at the start and at the end of its middle part."""
    readings = []
    for share in WINDOW:
        time.sleep(max(0.0, start + share * seconds - time.monotonic()))
        readings.append((time.monotonic(), psutil.cpu_times(percpu=True), read_process(server)))
    (began, processors, process), (ended, later_processors, later_process) = readings
    own_us = 0
    if process is not None and later_process is not None:
        own_us = sum(used(process, later_process))
    shares = [_share(*pair) for pair in zip(processors, later_processors, strict=True)]
    return Busy(
        server_processor=shares[0],
        generator_processor=shares[PROCESSOR],
        server_process=own_us / 1e6 / (ended - began),
    )


def _share(first: Any, last: Any) -> float:
    """Busy over busy plus idle; time that the host took away (steal) is neither."""

    def spent(*names: str) -> float:
        return float(sum(getattr(last, name) - getattr(first, name) for name in names))

    idle = spent("idle", "iowait")
    busy = spent("user", "nice", "system", "irq", "softirq")
    return busy / (busy + idle) if busy + idle > 0 else 0.0
