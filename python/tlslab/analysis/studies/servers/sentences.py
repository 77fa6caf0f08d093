"""What can be said of servers beside each other, with the study's own ratios where it has them."""

from collections.abc import Sequence

from tlslab.analysis.compare import Measured
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.published import Study
from tlslab.analysis.studies.servers.beside import (
    RATE,
    Place,
    by_place,
    compared,
    others,
    place_of,
    places,
    reported,
)
from tlslab.model.finding import Comparison, Finding
from tlslab.model.wording import cell_label, counted, joined, with_interval


def best_servers(cells: Sequence[Measured], study: Study | None) -> list[Finding]:
    """The best cell of the best server against the best of each other one, fronts aside."""
    leaders = _leaders(cells)
    found = _against_best(leaders)
    if not found:
        return []
    best, *rest = leaders
    text = _best_words(best, found, cells)
    if any(not comparison.differs for _, comparison in found):
        text += " Where the interval holds 1, which is faster stays open."
    published = study.servers if study else None
    if published is not None and _is_studys(best, rest[0]):
        text += (
            f" The study found {published.ratio:.2f} between its two servers: {published.words}."
        )
    return [Finding("servers", text, tuple(cell.summary.key for cell in leaders))]


def leading_server(cells: Sequence[Measured]) -> tuple[str, str] | None:
    """Which server carries more, where each has cells that no other one has; its best cell's key.

    Such a run can compare servers by their best cells only, and this is its answer. None where two
    servers have cells of equal levels, where a difference is not established, or with too few
    blocks.
    """
    if any(len(members) > 1 for _, members in by_place(cells)):
        return None
    leaders = _leaders(cells)
    found = _against_best(leaders)
    if not found or len(found) < len(leaders) - 1:
        return None
    if any(not each.differs or each.n < FEWEST for _, each in found):
        return None
    return _best_words(leaders[0], found, cells), leaders[0].summary.key


def _against_best(leaders: Sequence[Measured]) -> list[tuple[Measured, Comparison]]:
    """The others beside the best one, where they may be compared."""
    return [
        (other, comparison)
        for other in leaders[1:]
        if (comparison := compared(leaders[0], other, RATE))
    ]


def _best_words(
    best: Measured, found: Sequence[tuple[Measured, Comparison]], cells: Sequence[Measured]
) -> str:
    parts = [
        f"{reported(comparison)} times the best of {place_of(other).server} "
        f"({cell_label(others(other))})"
        for other, comparison in found
    ]
    return (
        f"The best of {place_of(best).server} ({cell_label(others(best))}) carries "
        f"{with_interval(best.summary.estimates[RATE])} new connections/s, {joined(parts)}"
        f"{_unranked_words(cells)}."
    )


def _unranked_words(cells: Sequence[Measured]) -> str:
    """How many cells may be better than the best ones, for all that is known."""
    count = sum(
        place_of(cell).direct and cell.summary.verdict != "unsupported" and not cell.may_rank(RATE)
        for cell in cells
    )
    if not count:
        return ""
    return f"; {counted(count, 'cell')} not ranked: a lower bound, or no valid rate of the server"


def _is_studys(best: Measured, other: Measured) -> bool:
    """Whether an ECDSA server is ahead of an RSA one, as in the study."""
    keys = [cell.summary.factors.get("key", "") for cell in (best, other)]
    return keys[0].startswith("ecdsa-") and keys[1].startswith("rsa-")


def _leaders(cells: Sequence[Measured]) -> list[Measured]:
    """The best cell of each server that clients meet directly, best first."""
    direct = [cell for cell in cells if place_of(cell).direct and cell.may_rank(RATE)]
    by_server: dict[str, Measured] = {}
    for cell in direct:
        server = place_of(cell).server
        known = by_server.get(server)
        if known is None or _rate(cell) > _rate(known):
            by_server[server] = cell
    return sorted(by_server.values(), key=_rate, reverse=True)


def _rate(cell: Measured) -> float:
    return cell.summary.estimates[RATE].value


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
        if not cell.may_rank(RATE):
            continue
        direct = [
            other
            for other in cells
            if place_of(other).direct
            and place_of(other).server == place.server
            and _but_group(other) == _but_group(cell)
            and other.may_rank(RATE)
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
        comparison = compared(cell, other, RATE)
        if comparison is None or other is None or (other is same and words == "direct with"):
            continue
        name = words if other is same else f"{words} {other.summary.factors['group']}"
        parts.append(f"{reported(comparison)} times as many as {name}")
        keys.append(other.summary.key)
    if not parts:
        return None
    text = (
        f"{cell_label(_but_group(cell))}: with {group} {place.label} carries "
        f"{with_interval(cell.summary.estimates[RATE])} new connections/s, {' and '.join(parts)}."
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
