"""Cells that differ in their server alone, and their ratios paired by block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tlslab.analysis.compare import Measured, compare
from tlslab.domain.deployment import NO_FRONT
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Comparison
from tlslab.domain.wording import level_label, ratio_figure

# The factors that determine the servers on a connection's path.
PLACES = ("server", "front")


@dataclass(frozen=True)
class Place:
    """A server, and the front before it; either is empty if the experiment does not vary it."""

    server: str
    front: str

    @property
    def label(self) -> str:
        """`nginx`, `nginx behind haproxy`, `direct`."""
        front = level_label("front", self.front) if self.front else ""
        return " ".join(filter(None, (level_label("server", self.server), front)))

    @property
    def direct(self) -> bool:
        """Whether clients connect to the server itself."""
        return self.front in ("", NO_FRONT)


def place_of(cell: Measured) -> Place:
    """The place that a cell's connections reach."""
    factors = cell.summary.factors
    return Place(factors.get("server", ""), factors.get("front", ""))


def places(cells: Sequence[Measured]) -> list[Place]:
    """All places, in the order of the plan."""
    return list(dict.fromkeys(place_of(cell) for cell in cells))


def others(cell: Measured) -> dict[str, str]:
    """A cell's levels, except those of its place."""
    return {name: level for name, level in cell.summary.factors.items() if name not in PLACES}


def by_place(
    cells: Sequence[Measured],
) -> list[tuple[Mapping[str, str], dict[Place, Measured]]]:
    """Cells with equal levels apart from their places, in the order of the plan."""
    found: list[tuple[Mapping[str, str], dict[Place, Measured]]] = []
    for cell in cells:
        levels = others(cell)
        for known, members in found:
            if known == levels:
                members[place_of(cell)] = cell
                break
        else:
            found.append((levels, {place_of(cell): cell}))
    return found


def ratio(candidate: Measured | None, baseline: Measured | None, name: str) -> Estimate | None:
    """Candidate over baseline; None if they may not be compared."""
    found = compared(candidate, baseline, name)
    if found is None:
        return None
    return Estimate(found.ratio, found.low, found.high, found.n, "ratio", found.method)


def compared(candidate: Measured | None, baseline: Measured | None, name: str) -> Comparison | None:
    """The comparison of two cells; None if they may not be compared."""
    if candidate is None or baseline is None or candidate is baseline:
        return None
    found = compare(candidate, baseline, name)
    return None if found is None or found.verdict == "not_comparable" else found


def reported(found: Comparison) -> str:
    """`1.25 (95 %: 1.21 to 1.29)`."""
    if found.low is None or found.high is None:
        return f"{ratio_figure(found.ratio)} (no interval)"
    low, high = ratio_figure(found.low), ratio_figure(found.high)
    return f"{ratio_figure(found.ratio)} (95 %: {low} to {high})"
