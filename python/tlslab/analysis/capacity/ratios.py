"""One cell's maximum over another's: what is known of it, and what all of them establish (Holm)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.remedies import RatioBound, bound_of
from tlslab.analysis.compare import compare, judged
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.stats.families import holm
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import CONNECTIONS, SERVER_COST
from tlslab.domain.finding import Comparison

# The cells differ in the number of processors, in the server, or in another factor.
Kind = Literal["scaling", "platforms", "variants"]

Pairs = Iterator[tuple[CapacityCell, CapacityCell]]


@dataclass(frozen=True)
class Ratio:
    """The maximum of `more` over that of `less`; `family`: the ratios that are judged together."""

    more: CapacityCell
    less: CapacityCell
    comparison: Comparison
    family: int = 1

    @property
    def cost(self) -> Estimate | None:
        """The server's time for a connection in `more` over that in `less`, at their maxima.

        No lower bound, whatever limits the rates. None if one of the times is not known.
        """
        found = compare(self.more.measured, self.less.measured, SERVER_COST)
        return None if found is None else found.as_estimate

    @property
    def bound(self) -> RatioBound:
        """The side on which the ratio is open because a server may take more."""
        return bound_of(not self.more.is_comparable, not self.less.is_comparable)

    @property
    def is_steady(self) -> bool:
        """Whether both rates were steady."""
        return self.more.is_steady and self.less.is_steady

    @property
    def is_known(self) -> bool:
        """Whether the ratio says something about the servers."""
        return self.is_steady and self.bound != "unknown"

    @property
    def is_at_chosen(self) -> bool:
        """Whether an inconclusive search chose the number of connections of a side."""
        return any(cell.open and cell.is_comparable for cell in (self.more, self.less))

    @property
    def is_established(self) -> bool:
        """Whether the ratio differs from 1; for a bound, on the side that the bound leaves."""
        ratio = self.comparison.ratio
        open_ = {"at least": ratio <= 1, "at most": ratio >= 1}.get(self.bound, False)
        return self.comparison.differs and not open_

    @property
    def values(self) -> dict[str, object]:
        """What a sentence says of the ratio."""
        return {
            "ratio": self.comparison.as_estimate,
            "bound": self.bound,
            "steady": self.is_steady,
            "at_chosen": self.is_at_chosen,
            "established": self.is_established,
            "family": self.family,
            "shared": self.more.shared,
            "cost": self.cost,
        }


def over(more: CapacityCell, less: CapacityCell) -> Ratio | None:
    """One cell's maximum over another's; None if one of them does not support a sentence.

    Lower bounds enter with their values.
    """
    if not (more.has_maximum and less.has_maximum):
        return None
    comparison = compare(more.measured, less.measured, CONNECTIONS, bounds=True)
    return None if comparison is None else Ratio(more, less, comparison)


def flag(ratio: Ratio) -> str:
    """What stands before a ratio in a table if a maximum is not known; else empty."""
    if not ratio.is_steady:
        return "not steady:"
    return "both are lower bounds:" if ratio.bound == "unknown" else ratio.bound


def ratios(
    cells: Sequence[CapacityCell], baseline: Mapping[str, str]
) -> dict[Kind, tuple[Ratio, ...]]:
    """The ratios of a report that have enough repetitions; what is known is judged together.

    `baseline`: the levels with which others are compared.
    """
    pairs: dict[Kind, Pairs] = {
        "scaling": scaling_pairs(cells),
        "platforms": server_pairs(cells),
        "variants": variant_pairs(cells, baseline),
    }
    made = [(kind, over(more, less)) for kind, of in pairs.items() for less, more in of]
    enough = [(kind, r) for kind, r in made if r is not None and r.comparison.n >= FEWEST]
    known = [ratio for _, ratio in enough if ratio.is_known]
    adjusted = iter(holm([1.0 if r.comparison.p is None else r.comparison.p for r in known]))
    listed: dict[Kind, tuple[Ratio, ...]] = dict.fromkeys(pairs, ())
    for kind, ratio in enough:
        if ratio.is_known:
            comparison = judged(ratio.comparison, next(adjusted))
            ratio = replace(ratio, comparison=comparison, family=len(known))
        listed[kind] += (ratio,)
    return listed


def scaling_pairs(cells: Sequence[CapacityCell]) -> Pairs:
    """Cells that differ only in the number of processors, the one with fewer first."""
    for cell in cells:
        for other in cells:
            fewer, more = (int(each.factors.get("processors", 0)) for each in (other, cell))
            if 0 < fewer < more and _rest(other, "processors") == _rest(cell, "processors"):
                yield other, cell


def server_pairs(cells: Sequence[CapacityCell]) -> Pairs:
    """Cells that differ only in the server, each paired with the first of them."""
    for group in _groups(cells, "server"):
        yield from ((group[0], other) for other in group[1:])


def variant_pairs(cells: Sequence[CapacityCell], baseline: Mapping[str, str]) -> Pairs:
    """Cells that differ in one factor only, other than server and processors.

    Each is paired with the cell at the baseline's level, or else with the first of them.
    """
    names = dict.fromkeys(name for cell in cells for name in cell.factors)
    for factor in (name for name in names if name not in ("server", "processors")):
        for group in _groups(cells, factor):
            group.sort(key=lambda cell: cell.factors[factor] != baseline.get(factor))
            yield from ((group[0], other) for other in group[1:])


def _groups(cells: Sequence[CapacityCell], factor: str) -> list[list[CapacityCell]]:
    """The cells that have a factor, grouped by their other levels."""
    groups: dict[frozenset[tuple[str, str]], list[CapacityCell]] = {}
    for cell in cells:
        if factor in cell.factors:
            groups.setdefault(_rest(cell, factor), []).append(cell)
    return list(groups.values())


def _rest(cell: CapacityCell, factor: str) -> frozenset[tuple[str, str]]:
    return frozenset(item for item in cell.factors.items() if item[0] != factor)
