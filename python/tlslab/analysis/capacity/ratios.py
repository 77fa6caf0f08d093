"""The ratios of maxima in a report, judged together (Holm)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.known import is_comparable, over, times_words
from tlslab.analysis.compare import judged
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.stats.families import holm
from tlslab.domain.finding import Comparison
from tlslab.domain.wording import every

# One cell over another.
Pair = tuple[CapacityCell, CapacityCell]


@dataclass(frozen=True)
class Ratios:
    """The ratios behind sentences, by the keys of both cells, with their verdicts."""

    found: Mapping[tuple[str, str], Comparison]

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "Ratios":
        """The ratios of these pairs (first over second), as far as anything is known about them."""
        found = {}
        for more, less in pairs:
            ratio = over(more, less)
            if ratio is None or ratio.n < FEWEST or not times_words(ratio, more, less):
                continue
            found[more.key, less.key] = ratio
        adjusted = holm([1.0 if each.p is None else each.p for each in found.values()])
        together = zip(found.items(), adjusted, strict=True)
        return cls({keys: judged(ratio, p) for (keys, ratio), p in together})

    def verdict_words(self, more: CapacityCell, less: CapacityCell) -> str:
        """Whether the ratio establishes a difference, and among how many, after a semicolon.

        Empty for a single ratio that does: its interval says so.
        """
        differs = _is_established(self.found[more.key, less.key], more, less)
        n = len(self.found)
        if n > 1:
            which = "a difference" if differs else "no difference"
            return f"; among {every(n)} ratios here (Holm) {which} is established"
        return "" if differs else "; no difference is established"


def _is_established(ratio: Comparison, more: CapacityCell, less: CapacityCell) -> bool:
    """Whether the ratio differs from 1; for a bound, on the side that the bound leaves."""
    if not is_comparable(more):
        return ratio.differs and ratio.ratio > 1
    if not is_comparable(less):
        return ratio.differs and ratio.ratio < 1
    return ratio.differs
