"""The names of cells in a report, by the levels in which they differ."""

from collections.abc import Mapping, Sequence

from tlslab.domain.wording import level_label


def cell_names(cells: Sequence[Mapping[str, str]]) -> list[str]:
    """A name for each cell, from the levels in which cells differ: `nginx, 2 processors`.

    A cell with other factors than the first one (an obsolete one) is named by the levels that no
    cell of the first sort has.
    """
    alike = [cell for cell in cells if set(cell) == set(cells[0])]
    varied = [name for name in _factors(alike) if len({c[name] for c in alike}) > 1]
    kept = varied or [name for name in ("server",) if all(name in c for c in alike)]
    return [_name(cell, alike, kept) for cell in cells]


def _name(cell: Mapping[str, str], alike: Sequence[Mapping[str, str]], kept: list[str]) -> str:
    if cell not in alike:
        common = {(name, level) for other in alike for name, level in other.items()}
        own = {n: v for n, v in cell.items() if n != "server" and (n, v) not in common}
        return cell_name(own or cell)
    return cell_name({name: cell[name] for name in kept}) or "the server"


def cell_name(factors: Mapping[str, str]) -> str:
    """Levels side by side."""
    return ", ".join(level_label(*item) for item in factors.items())


def _factors(cells: Sequence[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for cell in cells for name in cell))


def percent_of_maximum(fraction: float) -> str:
    """`60 %`."""
    return f"{fraction * 100:g} %"
