"""One choice among the cells without objections, by an aim, with its price."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tlslab.advice.field import Entry, Field
from tlslab.advice.preference import Preference, Subject
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CONNECTIONS,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    SERVER_COST,
    SERVICE,
    WIRE_BYTES,
    quantile,
)
from tlslab.domain.finding import Comparison
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.trade_off import TradeOffs
from tlslab.domain.wording import difference

Aim = Literal["throughput", "latency", "security", "bytes"]


# Measures of throughput: rates first, then costs if a rate was not the server's limit.
_THROUGHPUT: Mapping[Subject, tuple[str, ...]] = {
    "suite": (
        OPEN_REQUESTS,
        OPEN_SERVER_COST,
        CONNECTIONS,
        SERVER_COST,
    ),
    "group": (CONNECTIONS, SERVER_COST),
}
_LATENCY = tuple(quantile(SERVICE, percentage) for percentage in (99, 95, 50))
_BYTES = (WIRE_BYTES,)

# The rivals of the choice: the best of all by the aim's measure, the best that may be recommended,
# the safest, and the best in another dimension.
Rival = Literal["fastest", "fastest_allowed", "safest", "elsewhere"]

# With a smaller probability, the choice does not count as the best one in a dimension.
_HARDLY = 0.05


def measures(aim: Aim, subject: Subject) -> tuple[str, ...]:
    """The deciding measures, in the order in which they are tried.

    For the aim `security` they decide among equally safe cells.
    """
    match aim:
        case "latency":
            return _LATENCY
        case "bytes":
            return _BYTES
        case _:
            return _THROUGHPUT[subject]


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
        found = self.comparison
        return Estimate(found.ratio, found.low, found.high, found.n, "ratio", found.method)

    @property
    def established(self) -> bool:
        """Whether a difference is established, from enough blocks for a sentence."""
        return self.comparison.differs and self.comparison.n >= LEAST_BLOCKS

    @property
    def rival_is_better(self) -> bool:
        """Whether the choice is slower, more expensive or larger; for amounts less is better."""
        return self.comparison.verdict in ("slower", "more")


@dataclass(frozen=True)
class Recommendation:
    """A choice, the order behind it, and the trade-offs considered; `order` has cells' keys."""

    field: Field
    aim: Aim
    trade_offs: TradeOffs
    order: tuple[str, ...]
    prices: tuple[Price, ...] = ()

    @property
    def chosen(self) -> Entry:
        """The recommended entry."""
        return self.field.entry(self.order[0])

    @property
    def names(self) -> tuple[str, ...]:
        """The suites or groups in their order."""
        return tuple(self.field.entry(key).name for key in self.order)

    @property
    def equals(self) -> frozenset[str]:
        """The cells that cannot be told apart from the choice by the aim."""
        found = self.trade_offs
        first = {self.order[0]}
        return frozenset(first | set(found.contenders) if found.decided else first)


def decide(field: Field, aim: Aim, found: TradeOffs) -> Recommendation | None:
    """The order by the aim; None if nothing may be recommended.

    `security`: the safest first, equally safe ones in the order of their throughput.
    """
    security = field.security
    if not security:
        return None
    order = found.order
    if aim == "security":
        order = tuple(sorted(order, key=lambda key: security[key]))
    return Recommendation(field, aim, found, order)


def rivals(found: Recommendation, objected: str | None) -> list[tuple[Rival, str, str]]:
    """The comparisons of the choice: the rival, its cell, the measure.

    `objected`: the best of all cells by the aim's measure, if a policy objects to it. Only measured
    rivals other than the choice itself are included.
    """
    chosen, trade_offs = found.trade_offs.cell(found.order[0]), found.trade_offs
    if not trade_offs.measure or chosen is None:
        return []
    safest = min(trade_offs.cells, key=lambda each: each.security)
    allowed = _best(trade_offs, trade_offs.measure)
    wanted: list[tuple[Rival, str | None]] = [("fastest", objected), ("fastest_allowed", allowed)]
    if safest.security < chosen.security:
        wanted.append(("safest", safest.cell))
    listed = [
        (rival, cell, trade_offs.measure)
        for rival, cell in wanted
        if cell is not None and cell != chosen.cell
    ]
    for dimension in trade_offs.dimensions:
        best = _best(trade_offs, dimension)
        if dimension == trade_offs.measure or best is None:
            continue
        if chosen.best.get(dimension, 1.0) < _HARDLY:
            listed.append(("elsewhere", best, dimension))
    return listed


def _best(trade_offs: TradeOffs, measure: str) -> str | None:
    """The cell most likely to be the best one; None with too few blocks."""
    found = [each for each in trade_offs.cells if measure in each.best]
    return max(found, key=lambda each: each.best[measure]).cell if found else None


def preference(found: Recommendation, head: tuple[str, ...] = ()) -> Preference:
    """The recommendation in the form for emitters; `head`: sentences for the head of the file."""
    field, left = found.field, found.trade_offs.may_differ
    words = "by how much they may differ is not known"
    return Preference(
        subject=field.subject,
        server=field.server,
        names=found.names,
        equals=frozenset(field.entry(key).name for key in found.equals),
        left_open=words if left is None else f"they may differ by up to {difference(left)}",
        head=head,
    )
