"""What is said of a recommendation: the choice with its reasons and its prices."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Comparison
from tlslab.domain.grading import Grade, Source
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.trade_off import TradeOffs

Aim = Literal["throughput", "latency", "security", "bytes"]

# The rivals of the choice: the best of all by the aim's measure, the best that may be recommended,
# the safest, and the best in another dimension.
Rival = Literal["fastest", "fastest_allowed", "safest", "elsewhere"]


@dataclass(frozen=True)
class Price:
    """The choice over a rival by a measure: `comparison`, judged among all prices.

    `leads`: the rival is detectably better than every other cell of the setting, including those
    that may not be recommended. `is_bound`: the value of the rival is a lower bound.
    """

    rival: Rival
    cell: str
    measure: str
    comparison: Comparison
    leads: bool = False
    is_bound: bool = False

    @property
    def ratio(self) -> Estimate:
        """The choice's value over the rival's."""
        return self.comparison.as_estimate

    @property
    def established(self) -> bool:
        """Whether a difference is established, from enough blocks for a sentence."""
        return self.comparison.differs and self.comparison.n >= LEAST_BLOCKS

    @property
    def rival_is_better(self) -> bool:
        """Whether the choice is slower, more expensive or larger; for amounts less is better."""
        return self.comparison.verdict in ("slower", "more")


@dataclass(frozen=True)
class RecommendedChoice:
    """A choice with the order behind it, the trade-offs considered, and its prices.

    `where`: the setting in words, without the server. `order`: the candidates' cells, the choice
    first; `security`: the rank of each, 0 for the safest. `names`: of candidates and rivals, by
    cell. Of the choice: its worst `grade`, whether it is a `hybrid` with a post-quantum KEM, and
    the policies that recommend it. `objection`: the gravest one to the best of all, if it is a
    rival.
    """

    server: str
    where: str
    aim: Aim
    trade_offs: TradeOffs
    order: tuple[str, ...]
    names: Mapping[str, str]
    security: Mapping[str, int]
    grade: Grade
    hybrid: bool
    recommended_by: tuple[str, ...]
    prices: tuple[Price, ...]
    objection: str

    @property
    def name(self) -> str:
        """The name of the choice."""
        return self.names[self.order[0]]


@dataclass(frozen=True)
class Grounds:
    """The run and the policies behind a choice.

    `others`: the number of further settings of the run. `left_out`: what is not recommended, each
    with the gravest objection. `lacking`: what the server was not seen to support.
    """

    software: str
    others: int
    policies: tuple[Source, ...]
    left_out: Mapping[str, str]
    lacking: tuple[str, ...]


@dataclass(frozen=True)
class FileDescription:
    """What is said of a server's file: its use, how far the server keeps to its order.

    `beside`: the parts that the run did not measure, in words. `waiting`: groups that exist only in
    newer libraries.
    """

    title: str
    use: str
    order: str
    beside: str
    waiting: tuple[str, ...]
