"""What the server's process tree and the whole machine use while a trial runs.

`/proc/PID/task/*/schedstat` gives a process's run time in nanoseconds. `/proc/PID/stat` gives user
and system time in ticks of 10 ms; the ticks only divide the run time into user and system time. If
the two differ by more than the error of the ticks (threads that have ended, no schedstat), the
ticks count.
"""

import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tlslab.model.record import (
    CpuSample,
    MachineSample,
    MachineUsage,
    ProcessorUsage,
    ServerUsage,
)

SAMPLE_S = 0.2

_TICK_US = 1_000_000 // os.sysconf("SC_CLK_TCK")

# User and system time are each cut off to a whole tick, at the start and at the end.
_TICK_ERROR_US = 4 * _TICK_US


@dataclass(frozen=True)
class ProcessReading:
    """One process at one time: ticks with those of ended children, run time of its threads."""

    user_us: int
    system_us: int
    threads_ns: dict[str, int]


@dataclass(frozen=True)
class Reading:
    """Server and machine at one time of the monotonic clock, in seconds."""

    at: float
    processes: dict[int, ProcessReading]
    machine: list[Any] = field(default_factory=list)


def read_process(pid: int) -> ProcessReading | None:
    """A process's times from /proc; None when it has ended."""
    folder = Path("/proc") / str(pid)
    try:
        # The program's name may hold spaces and brackets: the fields begin after the last bracket.
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        user, system, children_user, children_system = (int(text) for text in fields[11:15])
        threads = {}
        for task in (folder / "task").iterdir():
            threads[task.name] = int((task / "schedstat").read_text().split()[0])
    except (OSError, IndexError, ValueError):
        if not folder.exists():
            return None
        threads = {}
    return ProcessReading(
        (user + children_user) * _TICK_US, (system + children_system) * _TICK_US, threads
    )


def used(start: ProcessReading, end: ProcessReading) -> tuple[int, int]:
    """User and system time between two readings of a process, in microseconds."""
    user = end.user_us - start.user_us
    system = end.system_us - start.system_us
    ticks = user + system
    exact = sum(ns - start.threads_ns.get(task, 0) for task, ns in end.threads_ns.items()) // 1000
    if not end.threads_ns or abs(exact - ticks) > _TICK_ERROR_US:
        return user, system
    if ticks == 0:
        return exact, 0
    return exact * user // ticks, exact - exact * user // ticks


def read(pids: Iterable[int]) -> Reading:
    """The given processes, and the machine."""
    processes = {}
    for pid in pids:
        if (reading := read_process(pid)) is not None:
            processes[pid] = reading
    return Reading(time.monotonic(), processes, psutil.cpu_times(percpu=True))


class Meter:
    """Reads at the start, about five times a second, and at the end of one measurement.

    Between two readings the meter's thread sleeps: it shares processors with the measured programs.
    """

    def __init__(self, tree: list[psutil.Process]) -> None:
        self._tree = tree
        self._pids = [process.pid for process in tree]
        self._readings: list[Reading] = []
        self._memory = 0
        self._ended = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="meter", daemon=True)

    def start(self) -> None:
        """Marks the start of the measurement."""
        self._readings.append(read(self._pids))
        self._thread.start()

    def end(self) -> None:
        """Marks its end; without a start, or a second time, it does nothing."""
        if self._stop.is_set() or not self._readings:
            return
        self._stop.set()
        last = read(self._pids)
        self._thread.join()
        self._readings.append(last)
        self._memory = sum(memory_bytes(process) for process in self._tree)
        self._ended = True

    def close(self) -> None:
        """Ends the thread, whatever happened."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def complete(self) -> bool:
        """Whether both start and end were marked."""
        return self._ended

    def _sample(self) -> None:
        while not self._stop.wait(SAMPLE_S):
            self._readings.append(read(self._pids))

    def server(self, handshakes: int | None) -> ServerUsage | None:
        """What the process tree used; None without processes."""
        if not self._tree:
            return None
        start, end = self._readings[0], self._readings[-1]
        user, system = _tree_used(start, end)
        return ServerUsage(
            user_us=user,
            system_us=system,
            seconds=end.at - start.at,
            memory_bytes=self._memory,
            processes=len(end.processes),
            samples=tuple(
                CpuSample(reading.at - start.at, *_tree_used(start, reading))
                for reading in self._readings[1:]
            ),
            handshakes=handshakes,
        )

    def machine(self) -> MachineUsage:
        """What the whole machine did."""
        start, end = self._readings[0], self._readings[-1]
        total = _machine_used(start, end)
        return MachineUsage(
            seconds=end.at - start.at,
            user_us=total["user"],
            system_us=total["system"],
            idle_us=total["idle"],
            softirq_us=total["softirq"],
            steal_us=total["steal"],
            per_processor=tuple(
                _processor(_times(first, last))
                for first, last in zip(start.machine, end.machine, strict=True)
            ),
            samples=tuple(_machine_sample(start, reading) for reading in self._readings[1:]),
        )


def memory_bytes(process: psutil.Process) -> int:
    """Proportional set size (shared pages divided among those who share them), or resident size."""
    try:
        full = process.memory_full_info()
        return int(getattr(full, "pss", 0) or full.rss)
    except psutil.AccessDenied:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def _tree_used(start: Reading, end: Reading) -> tuple[int, int]:
    pairs = [
        used(start.processes[pid], reading)
        for pid, reading in end.processes.items()
        if pid in start.processes
    ]
    return sum(user for user, _ in pairs), sum(system for _, system in pairs)


def _times(first: Any, last: Any) -> dict[str, int]:
    """One processor's times between two readings, in microseconds.

    `system` includes interrupts, `idle` includes waiting for disks; guests are in `user` already.
    """

    def spent(*names: str) -> int:
        return round(sum(getattr(last, n, 0.0) - getattr(first, n, 0.0) for n in names) * 1e6)

    return {
        "user": spent("user", "nice"),
        "system": spent("system", "irq", "softirq"),
        "idle": spent("idle", "iowait"),
        "softirq": spent("softirq"),
        "steal": spent("steal"),
    }


def _machine_used(start: Reading, end: Reading) -> dict[str, int]:
    processors = [_times(*pair) for pair in zip(start.machine, end.machine, strict=True)]
    return {name: sum(times[name] for times in processors) for name in processors[0]}


def _processor(times: dict[str, int]) -> ProcessorUsage:
    whole = times["user"] + times["system"] + times["idle"] + times["steal"] or 1
    return ProcessorUsage(
        busy=(times["user"] + times["system"]) / whole,
        user=times["user"] / whole,
        system=times["system"] / whole,
        softirq=times["softirq"] / whole,
        steal=times["steal"] / whole,
    )


def _machine_sample(start: Reading, reading: Reading) -> MachineSample:
    total = _machine_used(start, reading)
    return MachineSample(reading.at - start.at, total["user"], total["system"], total["idle"])
