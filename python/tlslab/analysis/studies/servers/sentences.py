"""Sentences on servers side by side, with the study's own ratios if it has them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.published_figures import Study
from tlslab.analysis.ranking import behind_the_first
from tlslab.analysis.studies.servers.beside import (
    Place,
    by_place,
    compared,
    others,
    place_of,
    places,
    reported,
)
from tlslab.domain.estimates import (
    CONNECTIONS,
)
from tlslab.domain.finding import Comparison, Finding
from tlslab.domain.leading import value_words
from tlslab.domain.wording import cell_label, counted, joined, ratio_figure, with_interval

# The limits of a ratio of two servers.
_CHOSEN = (
    "The best cells were chosen by the same measurements: the interval of a ratio does not allow "
    "for the choice."
)


@dataclass(frozen=True)
class Leading:
    """The server that carries more, in a sentence; the key of its best cell, and the test used."""

    sentence: str
    best: str
    tested: str


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


def best_servers(cells: Sequence[Measured], study: Study | None) -> list[Finding]:
    """The best cell of the best server against the best of each other server, without fronts."""
    standing = _standing(cells)
    found = _against_best(standing)
    if not found:
        return []
    best, *rest = standing.leaders
    text = f"{_best_words(best, found, cells)} {_CHOSEN}"
    if not standing.is_settled:
        verb = "establishes" if standing.pairs == 1 else "establish"
        text += (
            f" Where {_tested_words(standing)} {verb} no difference, which is faster stays open."
        )
    published = study.servers if study else None
    if published is not None and _is_studys(best, rest[0]):
        text += (
            f" The study found {published.ratio:.2f} between its two servers: {published.words}."
        )
    return [Finding("servers", text, tuple(cell.summary.key for cell in standing.leaders))]


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
    best = standing.leaders[0]
    tested = f"the servers by {_tested_words(standing)}"
    return Leading(_best_words(best, found, cells), best.summary.key, tested)


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


def _tested_words(standing: _Standing) -> str:
    if standing.pairs == 1:
        return "the test of their one pair of cells"
    return f"tests of all {counted(standing.pairs, 'pair')} of their cells together (Holm)"


def _best_words(
    best: Measured, found: Sequence[tuple[Measured, Comparison]], cells: Sequence[Measured]
) -> str:
    parts = [
        f"{_times_words(comparison, best)} times the best of {_server(other)} "
        f"({cell_label(others(other))})"
        for other, comparison in found
    ]
    carried = value_words(best.summary.estimates[CONNECTIONS], best.is_bound(CONNECTIONS))
    return (
        f"The best of {_server(best)} ({cell_label(others(best))}) carries "
        f"{carried} new connections/s, {joined(parts)}{_unranked_words(cells, best)}."
    )


def _times_words(found: Comparison, best: Measured) -> str:
    """`1.25 (95 %: 1.21 to 1.29)`; `at least 1.21` if the best cell is a lower bound."""
    if not best.is_bound(CONNECTIONS):
        return reported(found)
    return f"at least {ratio_figure(found.ratio if found.low is None else found.low)}"


def _unranked_words(cells: Sequence[Measured], best: Measured) -> str:
    """The number of unranked cells that may be better than the best ones."""
    count = sum(
        place_of(cell).direct
        and cell.summary.verdict != "unsupported"
        and cell is not best
        and not cell.may_rank(CONNECTIONS)
        for cell in cells
    )
    if not count:
        return ""
    return f"; {counted(count, 'cell')} not ranked: a lower bound, or no valid rate of the server"


def _is_studys(best: Measured, other: Measured) -> bool:
    """Whether an ECDSA server is ahead of an RSA one, as in the study."""
    keys = [cell.summary.factors.get("key", "") for cell in (best, other)]
    return keys[0].startswith("ecdsa-") and keys[1].startswith("rsa-")


def _rate(cell: Measured) -> float:
    return cell.summary.estimates[CONNECTIONS].value


def offloaded(cells: Sequence[Measured], study: Study | None) -> list[Finding]:
    """Each front against the server direct: with the same group, and with the fastest one."""
    fronts = [place for place in places(cells) if not place.direct]
    reported_of = [_offload(cells, place, study) for place in fronts]
    return [finding for findings in reported_of for finding in findings]


def _offload(cells: Sequence[Measured], place: Place, study: Study | None) -> list[Finding]:
    group = _group(cells, study)
    if group is None:
        return []
    found = []
    for cell in cells:
        if place_of(cell) != place or cell.summary.factors.get("group") != group:
            continue
        if not cell.may_rank(CONNECTIONS):
            continue
        direct = [
            other
            for other in cells
            if place_of(other).direct
            and place_of(other).server == place.server
            and _but_group(other) == _but_group(cell)
            and other.may_rank(CONNECTIONS)
        ]
        if (finding := _offload_reported(cell, place, direct, study)) is not None:
            found.append(finding)
    return found


def _offload_reported(
    cell: Measured, place: Place, direct: Sequence[Measured], study: Study | None
) -> Finding | None:
    group = cell.summary.factors["group"]
    same = next((o for o in direct if o.summary.factors["group"] == group), None)
    fastest = max(direct, key=_rate, default=None)
    parts, keys = [], [cell.summary.key]
    for other, words in ((same, f"direct with {group}"), (fastest, "direct with")):
        comparison = compared(cell, other, CONNECTIONS)
        if comparison is None or other is None or (other is same and words == "direct with"):
            continue
        name = words if other is same else f"{words} {other.summary.factors['group']}"
        parts.append(f"{reported(comparison)} times as many as {name}")
        keys.append(other.summary.key)
    if not parts:
        return None
    text = (
        f"{cell_label(_but_group(cell))}: with {group} {place.label} carries "
        f"{with_interval(cell.summary.estimates[CONNECTIONS])} new connections/s, "
        f"{' and '.join(parts)}."
    )
    published = study.offloader if study else None
    if published is not None and published.group == group:
        low, high = published.to_same
        text += (
            f" The study found {low:.2f} to {high:.2f} and {published.to_fastest:.2f}: "
            f"{published.words}."
        )
    return Finding("offload", text, tuple(keys))


def _but_group(cell: Measured) -> dict[str, str]:
    return {name: level for name, level in others(cell).items() if name != "group"}


def _group(cells: Sequence[Measured], study: Study | None) -> str | None:
    """The group to report: the study's, if it was measured, or the last one."""
    groups = [cell.summary.factors["group"] for cell in cells if "group" in cell.summary.factors]
    if study is not None and study.offloader is not None and study.offloader.group in groups:
        return study.offloader.group
    return groups[-1] if groups else None
