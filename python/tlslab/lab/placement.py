"""Which processors the server and the generator get."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Placement:
    """Processors to pin to; empty where nothing is pinned."""

    server: tuple[int, ...]
    generator: tuple[int, ...]


def place(managed: bool, available: tuple[int, ...] | None = None) -> Placement:
    """The first processor for the server, the second for the generator.

    On a single processor nothing is pinned: the two then compete, and preflight says so. Beside a
    server that the lab did not start only the generator is pinned, to the last processor.
    """
    processors = available if available is not None else tuple(sorted(os.sched_getaffinity(0)))
    if len(processors) < 2:
        return Placement((), ())
    if managed:
        return Placement(processors[:1], processors[1:2])
    return Placement((), processors[-1:])
