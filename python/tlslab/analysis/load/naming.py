"""How the cells of a load experiment are called in its report."""

from collections.abc import Mapping, Sequence

from tlslab.model.wording import level_label

_OBSOLETE = "ssl3"


def cell_names(cells: Sequence[Mapping[str, str]]) -> list[str]:
    """A name for each cell, of the levels that tell it from the others: `nginx, 2 processors`."""
    varied = [name for name in _factors(cells) if len({c.get(name) for c in cells}) > 1]
    kept = varied or [name for name in ("server",) if all(name in c for c in cells)]
    return [cell_name({n: c[n] for n in kept if n in c}) or "the server" for c in cells]


def cell_name(factors: Mapping[str, str]) -> str:
    """Levels side by side, the obsolete protocol by its name."""
    return ", ".join(_level(*item) for item in factors.items())


def _factors(cells: Sequence[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for cell in cells for name in cell))


def _level(name: str, level: str) -> str:
    if name == "processors":
        return f"{level} processor" if level == "1" else f"{level} processors"
    if name == "front":
        return "direct" if level == "none" else f"behind {level}"
    if (name, level) == ("tls", _OBSOLETE):
        return "SSL 3.0"
    return level_label(name, level)


def percent_of_maximum(fraction: float) -> str:
    """`60 %`."""
    return f"{fraction * 100:g} %"
