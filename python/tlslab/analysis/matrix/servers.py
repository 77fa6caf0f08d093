"""Servers side by side: two of them, or one with and without a front that terminates TLS.

Findings on cells that differ in their server alone; `server_figures` draws them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.ranking import behind_the_first
from tlslab.domain.deployment import NO_FRONT
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import CONNECTIONS
from tlslab.domain.finding import Comparison, Finding, Values
from tlslab.domain.wording import level_label

# The factors that determine the servers on a connection's path.
PLACES = ("server", "front")


@dataclass(frozen=True)
class ServerPlace:
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


def place_of(cell: Measured) -> ServerPlace:
    """The place that a cell's connections reach."""
    factors = cell.summary.factors
    return ServerPlace(factors.get("server", ""), factors.get("front", ""))


def places(cells: Sequence[Measured]) -> list[ServerPlace]:
    """All places, in the order of the plan."""
    return list(dict.fromkeys(place_of(cell) for cell in cells))


def others(cell: Measured) -> dict[str, str]:
    """A cell's levels, except those of its place."""
    return {name: level for name, level in cell.summary.factors.items() if name not in PLACES}


def by_place(
    cells: Sequence[Measured],
) -> list[tuple[Mapping[str, str], dict[ServerPlace, Measured]]]:
    """Cells with equal levels apart from their places, in the order of the plan."""
    found: list[tuple[Mapping[str, str], dict[ServerPlace, Measured]]] = []
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
    return None if found is None else found.as_estimate


def compared(candidate: Measured | None, baseline: Measured | None, name: str) -> Comparison | None:
    """The comparison of two cells; None if they may not be compared."""
    if candidate is None or baseline is None or candidate is baseline:
        return None
    found = compare(candidate, baseline, name)
    return None if found is None or found.verdict == "not_comparable" else found


@dataclass(frozen=True)
class Leading:
    """The server that carries more: the values of its sentence, and the key of its best cell."""

    values: Values
    best: str


@dataclass(frozen=True)
class _Standing:
    """The servers that clients connect to directly, by all their cells that have a place.

    `leaders`: the best cell of each server, the best first. `behind`: the servers without a cell
    that may be as good as the first leader, which is detectably better than all their values, by
    tests of all `pairs` of cells (Holm). A cell may be as good if it is a lower bound above the
    other cells of its server, or a rate above them that neither side limited. A bound below them is
    equally unknown; such bounds are counted in words.
    """

    leaders: tuple[Measured, ...]
    behind: frozenset[str]
    pairs: int

    @property
    def is_settled(self) -> bool:
        """Whether the first server is better than each of the others."""
        return self.behind == {_server(cell) for cell in self.leaders[1:]}


def best_servers(cells: Sequence[Measured]) -> list[Finding]:
    """The best cell of the best server against the best of each other server, without fronts."""
    standing = _standing(cells)
    found = _against_best(standing)
    if not found:
        return []
    values = {**_best_values(standing, found, cells), "settled": standing.is_settled}
    keys = tuple(cell.summary.key for cell in standing.leaders)
    return [Finding("servers", cells=keys, values=values)]


def leading_server(cells: Sequence[Measured]) -> Leading | None:
    """The server that carries more, in a run in which no two servers have cells of equal levels.

    Such a run can compare servers by their best cells only, and this is its answer. None if two
    servers have cells of equal levels, if a difference is not established, or with too few blocks.
    """
    if any(len(members) > 1 for _, members in by_place(cells)):
        return None
    standing = _standing(cells)
    found = _against_best(standing)
    if not found or len(found) < len(standing.leaders) - 1 or not standing.is_settled:
        return None
    if any(each.n < FEWEST for _, each in found):
        return None
    values = _best_values(standing, found, cells)
    return Leading(values, standing.leaders[0].summary.key)


def _standing(cells: Sequence[Measured]) -> _Standing:
    direct = [cell for cell in cells if place_of(cell).direct]
    ordered, beaten = behind_the_first(direct, CONNECTIONS)
    leaders: dict[str, Measured] = {}
    for cell in ordered:
        leaders.setdefault(_server(cell), cell)
    level = {
        _server(cell)
        for number, cell in enumerate(ordered)
        if number not in beaten and not _is_below(cell, leaders)
    }
    unlimited = {_server(cell) for cell in direct if _is_unlimited_above(cell, leaders)}
    best = next(iter(leaders), "")
    known = frozenset(leaders) - level - unlimited
    behind = known if best not in unlimited else frozenset()
    return _Standing(tuple(leaders.values()), behind, math.comb(len(ordered), 2))


def _server(cell: Measured) -> str:
    return place_of(cell).server


def _is_below(cell: Measured, leaders: Mapping[str, Measured]) -> bool:
    """Whether a cell is a lower bound below the best cell of its server."""
    return cell.is_bound(CONNECTIONS) and leaders[_server(cell)] is not cell


def _is_unlimited_above(cell: Measured, leaders: Mapping[str, Measured]) -> bool:
    """Whether a cell's rate was limited by neither side and is above the best one of its server."""
    leader, found = leaders.get(_server(cell)), cell.summary.estimates.get(CONNECTIONS)
    if leader is None or found is None or CONNECTIONS not in cell.summary.unsaturated:
        return False
    return cell.summary.verdict in ("valid", "at_least") and found.value > _rate(leader)


def _against_best(standing: _Standing) -> list[tuple[Measured, Comparison]]:
    """The others against the best one, if they may be compared."""
    return [
        (other, comparison)
        for other in standing.leaders[1:]
        if (comparison := compare(standing.leaders[0], other, CONNECTIONS, bounds=True))
        and comparison.verdict != "not_comparable"
    ]


def _best_values(
    standing: _Standing, found: Sequence[tuple[Measured, Comparison]], cells: Sequence[Measured]
) -> Values:
    """The best cell, the ratios to the best cells of other servers, and the tests of all pairs.

    `unranked`: the number of unranked cells that may be better than the best ones.
    """
    best = standing.leaders[0]
    unranked = sum(
        place_of(cell).direct
        and not cell.summary.without_tls
        and cell.summary.verdict != "unsupported"
        and cell is not best
        and not cell.may_rank(CONNECTIONS)
        for cell in cells
    )
    times = [
        {"cell": other.summary.key, "ratio": comparison.as_estimate} for other, comparison in found
    ]
    return {
        "best": best.summary.key,
        "times": times,
        "unranked": unranked,
        "pairs": standing.pairs,
    }


def _rate(cell: Measured) -> float:
    return cell.summary.estimates[CONNECTIONS].value


def offloaded(cells: Sequence[Measured]) -> list[Finding]:
    """Each front against the server direct, with the last group: that one and the fastest one."""
    groups = [cell.summary.factors["group"] for cell in cells if "group" in cell.summary.factors]
    found = [
        _offload(cell, _direct(cell, cells))
        for place in places(cells)
        for cell in cells
        if place_of(cell) == place and not place.direct
        if cell.summary.factors.get("group") in groups[-1:] and cell.may_rank(CONNECTIONS)
    ]
    return [finding for finding in found if finding is not None]


def _direct(cell: Measured, cells: Sequence[Measured]) -> list[Measured]:
    """The cells with the same server without a front, otherwise equal but for the group."""
    server = place_of(cell).server
    return [
        other
        for other in cells
        if place_of(other).direct and place_of(other).server == server
        if _but_group(other) == _but_group(cell) and other.may_rank(CONNECTIONS)
    ]


def _offload(cell: Measured, direct: Sequence[Measured]) -> Finding | None:
    group = cell.summary.factors["group"]
    same = next((o for o in direct if o.summary.factors["group"] == group), None)
    fastest = max(direct, key=_rate, default=None)
    ratios = {
        other.summary.key: comparison.as_estimate
        for other in (same, fastest)
        if other is not None and (comparison := compared(cell, other, CONNECTIONS)) is not None
    }
    if not ratios:
        return None
    return Finding("offload", cells=(cell.summary.key, *ratios), values={"ratios": ratios})


def _but_group(cell: Measured) -> dict[str, str]:
    return {name: level for name, level in others(cell).items() if name != "group"}
