"""Rules that end a run in blocks before all of its blocks are done."""

from dataclasses import dataclass
from typing import Literal

# `best`: the best cell of each setting; cells that are clearly beaten are left out of later
# blocks. `ranking`: the order of all cells.
Answer = Literal["best", "ranking"]

# With fewer blocks an interval that holds at any time is useless (analysis.stats.sequence).
LEAST_BLOCKS = 5

# The number of blocks from which the length of later trials is chosen, and the share of their
# windows that trials have in these blocks and at least have later.
PILOT_BLOCKS = 2
SHORTEST = 0.25


@dataclass(frozen=True)
class Stopping:
    """Rules by which a run ends once all of its comparisons are settled.

    A comparison of two cells is settled when a difference is established, or when a difference
    larger than `until` (a share) is excluded. The lab checks after `at_least` blocks and then after
    every block; the experiment's blocks are the limit. `budget_s`: the time in seconds after which
    no block starts. In the first `pilot` blocks, trials have the share SHORTEST of their windows;
    their results decide the length of later ones. With `pilot` 0 all trials have the full length.
    """

    until: float
    answer: Answer = "best"
    at_least: int = LEAST_BLOCKS
    budget_s: float | None = None
    pilot: int = PILOT_BLOCKS


@dataclass(frozen=True)
class Forecast:
    """The number of blocks until all comparisons are settled, forecast from the pilot.

    `low` and `high` are the blocks at the ends of the noise's 95 % interval; none is above the
    plan's. `seconds`: the remaining time. `settles`: the plan's blocks are enough. `may_settle`:
    the plan's blocks are enough at the lower end of the noise's interval.
    """

    blocks: int
    low: int
    high: int
    seconds: float
    settles: bool
    may_settle: bool = False
