"""The resource use of the server's process tree and of the whole machine during a trial."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import psutil

from tlslab.domain.errors import EngineError
from tlslab.domain.trial import (
    CpuSample,
    MachineSample,
    MachineUsage,
    ProcessorTimes,
    ProcessorUsage,
    ServerUsage,
    Source,
)
from tlslab.lab.metering.control_group import ControlGroup
from tlslab.lab.metering.energy import Counters, EnergyReader, joules
from tlslab.lab.metering.processes import ProcessReading, read_process, tree_queued, tree_used
from tlslab.servers.process import MOUNT_PROC

SAMPLE_S = 0.2

# The class of a measurement in which processors went on- or offline.
PROCESSORS_CHANGED = "processors_changed"

# The class of a measurement on a machine that does not show its processors.
PROCESSORS_UNKNOWN = "processors_unknown"

# The number of readings that cover a second.
LATELY = 6


@dataclass(frozen=True)
class MeterReading:
    """The state of server and machine at one time of the monotonic clock, in seconds."""

    at: float
    processes: dict[int, ProcessReading]
    machine: list[Any] = field(default_factory=list)
    energy: Counters = field(default_factory=dict)


def read(pids: Iterable[int], energy: EnergyReader | None = None) -> MeterReading:
    """A reading of the given processes and of the machine."""
    processes = {}
    counters = {} if energy is None else energy.read()
    for pid in pids:
        if (reading := read_process(pid)) is not None:
            processes[pid] = reading
    return MeterReading(time.monotonic(), processes, _processor_times(), counters)


def _processor_times() -> list[Any]:
    """The times of each processor since boot; empty where /proc/stat cannot be read."""
    try:
        return psutil.cpu_times(percpu=True)
    except OSError:
        return []


class Meter:
    """Reads at the start, about five times a second, and at the end of one measurement.

    Between two readings the meter's thread sleeps, because it shares processors with the measured
    programs. `members` finds the processes of a tree anew at start and end, if members of the tree
    come and go. `source` is the label of the usage.
    """

    def __init__(
        self,
        tree: list[psutil.Process],
        members: Callable[[], list[psutil.Process]] | None = None,
        source: Source = "started",
    ) -> None:
        self._tree = tree
        self._members = members
        self._source = source
        self._energy = EnergyReader()
        self._pids = [process.pid for process in tree]
        self._readings: list[MeterReading] = []
        self._memory = 0
        self._group: ControlGroup | None = None
        self._throttled: list[int | None] = []
        self._ended = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="meter", daemon=True)

    def start(self) -> None:
        """Marks the start of the measurement."""
        self._look()
        self._group = ControlGroup.of(self._pids[0]) if self._pids else None
        self._throttled = [None if self._group is None else self._group.throttled_us()]
        self._readings.append(read(self._pids, self._energy))
        self._thread.start()

    def end(self) -> None:
        """Marks the end of the measurement; without effect before a start, or the second time."""
        if self._stop.is_set() or not self._readings:
            return
        self._stop.set()
        self._look()
        last = read(self._pids, self._energy)
        self._thread.join()
        self._readings.append(last)
        self._throttled.append(None if self._group is None else self._group.throttled_us())
        self._memory = sum(memory_bytes(process) for process in self._tree)
        self._ended = True

    def close(self) -> None:
        """Ends the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def pids(self) -> frozenset[int]:
        """The processes of the tree at the last search."""
        return frozenset(each.pid for each in self._tree)

    @property
    def complete(self) -> bool:
        """Whether both start and end were marked."""
        return self._ended

    def _look(self) -> None:
        """Adds the processes that have joined the tree.

        Processes that have ended read as nothing.
        """
        if self._members is None:
            return
        self._tree = self._members() or self._tree
        joined = [each.pid for each in self._tree]
        self._pids = list(dict.fromkeys([*self._pids, *joined]))

    def _sample(self) -> None:
        while not self._stop.wait(SAMPLE_S):
            self._readings.append(read(self._pids, self._energy))

    def server_processors(self) -> float | None:
        """The number of processors that the process tree kept busy in the last second; None without
        a tree.

        The value comes from the last readings; nothing is read for it.
        """
        lately = self._readings[-LATELY:]
        if not self._tree or len(lately) < 2:
            return None
        used = sum(tree_used([each.processes for each in lately]))
        return used / 1e6 / (lately[-1].at - lately[0].at)

    def server(self, handshakes: int | None) -> ServerUsage | None:
        """The use of the process tree; None without processes."""
        if not self._tree:
            return None
        start, end = self._readings[0], self._readings[-1]
        user, system = tree_used([each.processes for each in self._readings])
        return ServerUsage(
            user_us=user,
            system_us=system,
            seconds=end.at - start.at,
            memory_bytes=self._memory,
            processes=len(end.processes),
            samples=tuple(
                CpuSample(reading.at - start.at, *tree_used([start.processes, reading.processes]))
                for reading in self._readings[1:]
            ),
            handshakes=handshakes,
            source=self._source,
            queued_us=tree_queued([each.processes for each in self._readings]),
            throttled_us=self._throttled_us(),
        )

    def _throttled_us(self) -> int | None:
        """How long the control group of the tree's first process was throttled."""
        before, after = self._throttled[0], self._throttled[-1]
        return None if before is None or after is None else max(0, after - before)

    @property
    def _is_comparable(self) -> bool:
        """Whether all readings have the same number of processors.

        The kernel lists only those that are online, so that others shift in the list.
        """
        return len({len(each.machine) for each in self._readings}) == 1

    def machine(self) -> MachineUsage:
        """The use of the whole machine.

        Raises EngineError if its processors changed, or cannot be read.
        """
        if not all(each.machine for each in self._readings):
            raise EngineError(
                PROCESSORS_UNKNOWN,
                "/proc/stat cannot be read: the use of this machine's processors is not known",
                MOUNT_PROC,
            )
        if not self._is_comparable:
            numbers = [len(each.machine) for each in self._readings]
            raise EngineError(
                PROCESSORS_CHANGED,
                "processors of this machine went on or off during the measurement: it had "
                f"{min(numbers)} and {max(numbers)}",
                "measure on a machine whose processors stay online",
            )
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
            energy=joules([each.energy for each in self._readings], self._energy.ranges),
            no_energy=self._energy.missing,
        )

    def processors(self) -> tuple[ProcessorTimes, ...]:
        """The use of each processor of this machine, from /proc/stat.

        Empty if some went on or off.
        """
        if not self._is_comparable:
            return ()
        start, end = self._readings[0], self._readings[-1]
        return tuple(
            _one_processor(str(number), _times(first, last))
            for number, (first, last) in enumerate(zip(start.machine, end.machine, strict=True))
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
        "irq": spent("irq"),
        "softirq": spent("softirq"),
        "steal": spent("steal"),
    }


def _machine_used(start: MeterReading, end: MeterReading) -> dict[str, int]:
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
        irq=times["irq"] / whole,
    )


def _one_processor(name: str, times: dict[str, int]) -> ProcessorTimes:
    return ProcessorTimes(
        processor=name,
        user_us=times["user"],
        system_us=times["system"] - times["irq"] - times["softirq"],
        irq_us=times["irq"],
        softirq_us=times["softirq"],
        steal_us=times["steal"],
        idle_us=times["idle"],
    )


def _machine_sample(start: MeterReading, reading: MeterReading) -> MachineSample:
    total = _machine_used(start, reading)
    return MachineSample(reading.at - start.at, total["user"], total["system"], total["idle"])
