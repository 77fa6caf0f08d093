"""Processor time of processes, and of a tree whose members come and go.

`/proc/PID/task/*/schedstat` gives a process's run time in nanoseconds, and the time for which its
threads were ready and waited for a processor. `/proc/PID/stat` gives user
and system time in ticks of 10 ms; the ticks only divide the run time into user and system time. If
the two differ by more than the error of the ticks (threads that have ended, no schedstat), the
ticks count.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TICK_US = 1_000_000 // os.sysconf("SC_CLK_TCK")

# User and system time are each truncated to a whole tick, at the start and at the end.
_TICK_ERROR_US = 4 * TICK_US

NOTHING = (0, 0)


@dataclass(frozen=True)
class ProcessReading:
    """One process at one time: ticks with those of ended children, run time of its threads.

    `children_us`: the part of the ticks, user and system, that belongs to ended children.
    `queued_ns`: the waits of its threads for a processor.
    """

    user_us: int
    system_us: int
    threads_ns: dict[str, int]
    children_us: tuple[int, int] = NOTHING
    queued_ns: dict[str, int] = field(default_factory=dict)


_NEW = ProcessReading(0, 0, {})


def read_process(pid: int) -> ProcessReading | None:
    """A process's times from /proc; None if it has ended."""
    folder = Path("/proc") / str(pid)
    try:
        # The program's name may contain spaces and brackets: the fields start after the last
        # bracket.
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        user, system, children_user, children_system = (
            int(text) * TICK_US for text in fields[11:15]
        )
        threads, queued = {}, {}
        for task in (folder / "task").iterdir():
            ran, waited, slices = (int(text) for text in (task / "schedstat").read_text().split())
            threads[task.name] = ran
            if ran or waited or slices:  # A kernel that does not count has zeros.
                queued[task.name] = waited
    except (OSError, IndexError, ValueError):
        if not folder.exists():
            return None
        threads, queued = {}, {}
    return ProcessReading(
        user + children_user,
        system + children_system,
        threads,
        (children_user, children_system),
        queued,
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


Tree = Mapping[int, ProcessReading]


def tree_queued(readings: Sequence[Tree]) -> int | None:
    """How long threads of a tree were ready and waited for a processor, in microseconds.

    Between the first and the last of its readings; of a thread that came or ended between them,
    what the readings saw of it. None where the kernel does not say.
    """
    first = {
        (pid, task): ns
        for pid, reading in readings[0].items()
        for task, ns in reading.queued_ns.items()
    }
    last = {
        (pid, task): ns
        for tree in readings
        for pid, reading in tree.items()
        for task, ns in reading.queued_ns.items()
    }
    return sum(ns - first.get(of, 0) for of, ns in last.items()) // 1000 if last else None


def tree_used(readings: Sequence[Tree]) -> tuple[int, int]:
    """User and system time of a tree between the first and the last of its readings.

    A new process counts from its start. The time of an ended process is in its parent's count of
    ended children, in full, once the parent has waited for it; its use before the first reading is
    subtracted. If no parent in the tree has waited for it (SIGCHLD ignored), its last reading
    counts; its use after that reading is lost.
    """
    start, end = readings[0], readings[-1]
    pairs = [used(start.get(pid, _NEW), reading) for pid, reading in end.items()]
    ended = {pid: last for tree in readings for pid, last in tree.items() if pid not in end}
    reaped = [
        reading.children_us[side] - start.get(pid, _NEW).children_us[side]
        for pid, reading in end.items()
        for side in (0, 1)
    ]
    seen = sum(last.user_us + last.system_us for last in ended.values())
    waited_for = sum(reaped) + 2 * TICK_US * len(ended) >= seen
    for pid, last in ended.items():
        first = start.get(pid, _NEW)
        if not waited_for:
            pairs.append(used(first, last))
        else:
            pairs.append((-first.user_us, -first.system_us))
    return sum(user for user, _ in pairs), sum(system for _, system in pairs)
