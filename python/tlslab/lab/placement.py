"""The processors for the server and for the generator."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Placement:
    """Processors to pin to; empty if nothing is pinned."""

    server: tuple[int, ...]
    generator: tuple[int, ...]

    @property
    def shared(self) -> bool:
        """Whether server and generator compete for a processor."""
        return bool(set(self.server) & set(self.generator))

    @property
    def alone(self) -> bool:
        """Whether the generator has its own processors, which the server does not use."""
        return bool(self.server) and bool(self.generator) and not self.shared


def may_run_in_real_time() -> bool:
    """Whether this process may use real-time scheduling (SCHED_FIFO; sched(7))."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    first = os.sched_get_priority_min(os.SCHED_FIFO)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(first))
    except PermissionError:
        return False
    os.sched_setscheduler(0, policy, parameters)
    return True


def usable() -> tuple[int, ...]:
    """The processors that this process may use, ascending."""
    return tuple(sorted(os.sched_getaffinity(0)))


def place(
    managed: bool,
    available: tuple[int, ...] | None = None,
    count: int = 1,
    most: int | None = None,
    generators: int = 1,
) -> Placement:
    """The first `count` processors for the server, the next one for the generator.

    `generators` on this machine get one processor each, as long as there are any. `most`: the
    largest `count` of the run, which keeps the generator on one processor throughout. If no
    processor is left, the generator shares the last one with the server. On a single processor
    nothing is pinned: server and generator compete, and preflight reports it. With a server that
    the lab did not start, only the generator is pinned, to the last processor.
    """
    processors = usable() if available is None else available
    if len(processors) < 2:
        return Placement((), ())
    if managed:
        own = min(max(count, most or count), len(processors) - 1)
        return Placement(processors[:count], processors[own : own + generators])
    return Placement((), processors[-min(generators, len(processors) - 1) :])
