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
    """The number of tries that gave a verdict, and the number of all tries.

    `low` to `high` is the exact 95 % interval of the share (Clopper and Pearson 1934).
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
    """A planted slowdown, as a share of a new connection's cost, and the tries that found it.

    `ratio`: the measured ratio, slower over equal server, over all blocks, with its 95 % interval;
    None if there was nothing to compare.
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
    """The resolution by one estimate.

    `noise`: the standard deviation, over the blocks, of the logarithm of the ratio of two equal
    servers; None with too few blocks. `between`: the standard deviation of a server's own logarithm
    from try to try, so from one short run to the next; None with fewer than five tries. `within`:
    that of a block of a try.
    """

    estimate: str
    alarms: Tries
    planted: tuple[Planted, ...]
    noise: float | None
    detectable: tuple[Detectable, ...]
    between: float | None = None
    within: float | None = None

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

    `blocks`: the blocks of one try; `measure_ms`: the length of a measurement in milliseconds.
    `by`: the estimates by which servers are ranked, without those by which no try could be ranked.
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
