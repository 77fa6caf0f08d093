"""The resolution of a machine: comparisons of a server with itself and with slower copies.

A try is one comparison over a few blocks of its own, judged in the same way as any run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCHEMA = "tlslab.selftest/1"

# A result holds for a run only if these facts of the machine are equal.
HOLDS_FOR = ("kernel", "architecture", "processor", "processors", "usable_processors")


@dataclass(frozen=True)
class Tries:
    """How many tries gave a verdict, of how many; `low` to `high` is the exact 95 % interval of
    the share (Clopper and Pearson 1934).
    """

    found: int
    tries: int
    low: float
    high: float

    @property
    def always(self) -> bool:
        """Whether every try gave the verdict."""
        return 0 < self.tries == self.found


@dataclass(frozen=True)
class Planted:
    """A slowdown that was planted, as a share of a new connection's cost, and who found it.

    `ratio` is the measured one, slower over equal server, over all blocks, with its interval of
    95 %; None where there was nothing to compare.
    """

    share: float
    found: Tries
    ratio: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Detectable:
    """The difference that a comparison of N blocks finds 9 times in 10, as a share."""

    blocks: int
    share: float


@dataclass(frozen=True)
class Ability:
    """What is told apart by one estimate.

    `noise` is the standard deviation, over the blocks, of the logarithm of the ratio of two equal
    servers; None where there were too few blocks.
    """

    estimate: str
    alarms: Tries
    planted: tuple[Planted, ...]
    noise: float | None
    detectable: tuple[Detectable, ...]

    @property
    def smallest(self) -> Planted | None:
        """The smallest slowdown such that every try found it and all larger ones."""
        smallest = None
        for each in sorted(self.planted, key=lambda planted: -planted.share):
            if not each.found.always:
                break
            smallest = each
        return smallest


@dataclass(frozen=True)
class Selftest:
    """The result of a self-test.

    `blocks` are those of a try, `measure_ms` the length of a measurement in milliseconds. `by` has
    the estimates that servers are ranked by, but for those that no try could be ranked by.
    """

    schema: str
    created: str
    tlslab: str
    machine: Mapping[str, Any]
    blocks: int
    measure_ms: int
    by: tuple[Ability, ...]

    def holds_for(self, version: str, machine: Mapping[str, Any]) -> bool:
        """Whether this version made the result on such a machine."""
        same = all(self.machine.get(name) == machine.get(name) for name in HOLDS_FOR)
        return self.tlslab == version and same
