"""When a run in blocks ends before all of its blocks are done."""

from dataclasses import dataclass
from typing import Literal

# `best`: which cell of each setting is best; cells that are clearly beaten are left out of later
# blocks. `ranking`: the order of all cells.
Answer = Literal["best", "ranking"]

# With fewer blocks an interval that holds at any time is useless (analysis.stats.sequence).
LEAST_BLOCKS = 5

# The blocks from which the length of later trials is chosen, and the share of the windows that a
# trial has at least, and in the pilot.
PILOT_BLOCKS = 2
SHORTEST = 0.25


@dataclass(frozen=True)
class Stopping:
    """A cell runs until all of its comparisons are settled.

    A comparison of two cells is settled when a difference is established, or one larger than
    `until` (a share) is excluded. After `at_least` blocks the lab looks after every block; the
    experiment's blocks are the most. `budget_s` is the time in seconds after which no block begins.
    In the first `pilot` blocks trials have the share SHORTEST of their windows; what they show
    decides on the length of later ones. 0: all have the full length.
    """

    until: float
    answer: Answer = "best"
    at_least: int = LEAST_BLOCKS
    budget_s: float | None = None
    pilot: int = PILOT_BLOCKS


@dataclass(frozen=True)
class Forecast:
    """How many blocks a run takes until all is settled, as the pilot shows it.

    `low` and `high` are the blocks at the ends of the noise's interval (95 %); none is above the
    plan's. `seconds` is the time left. `settles` is False where the plan's blocks are not enough,
    `may_settle` where they are not even at the lower end of the noise's interval.
    """

    blocks: int
    low: int
    high: int
    seconds: float
    settles: bool
    may_settle: bool = False
