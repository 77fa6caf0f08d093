"""Pairs of cells of a capacity experiment that differ in one factor."""

from collections.abc import Iterator, Mapping, Sequence

from tlslab.analysis.capacity.capacity_cell import CapacityCell


def scaling_pairs(cells: Sequence[CapacityCell]) -> Iterator[tuple[CapacityCell, CapacityCell]]:
    """Cells that differ only in the number of processors, the one with fewer first."""
    for cell in cells:
        others = [
            other
            for other in cells
            if _without(other, "processors") == _without(cell, "processors")
            and other.factors.get("processors", "") != cell.factors.get("processors", "")
        ]
        for other in others:
            if int(other.factors["processors"]) < int(cell.factors["processors"]):
                yield other, cell


def server_pairs(cells: Sequence[CapacityCell]) -> Iterator[tuple[CapacityCell, CapacityCell]]:
    """Cells that differ only in the server, each paired with the first of them."""
    seen: dict[frozenset[tuple[str, str]], CapacityCell] = {}
    for cell in cells:
        if "server" not in cell.factors:
            continue
        key = frozenset(_without(cell, "server").items())
        first = seen.setdefault(key, cell)
        if first is not cell:
            yield first, cell


def variant_pairs(
    cells: Sequence[CapacityCell], baseline: Mapping[str, str]
) -> Iterator[tuple[CapacityCell, CapacityCell]]:
    """Cells that differ in one factor only, other than server and processors.

    Each is paired with the cell at the baseline's level, or else with the first of them.
    """
    names = dict.fromkeys(name for cell in cells for name in cell.factors)
    for factor in names:
        if factor in ("server", "processors"):
            continue
        groups: dict[frozenset[tuple[str, str]], list[CapacityCell]] = {}
        for cell in cells:
            if factor in cell.factors:
                groups.setdefault(frozenset(_without(cell, factor).items()), []).append(cell)
        for group in groups.values():
            group.sort(key=lambda cell: cell.factors[factor] != baseline.get(factor))
            yield from ((group[0], other) for other in group[1:])


def _without(cell: CapacityCell, factor: str) -> dict[str, str]:
    return {name: level for name, level in cell.factors.items() if name != factor}
