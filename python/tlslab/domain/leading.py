"""The leading cells of a ranking, as a sentence."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tlslab.domain.answer import Tile
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import estimate_name, quantity, shown
from tlslab.domain.estimates import tiles as tile_rows
from tlslab.domain.finding import CellSummary, Ranking
from tlslab.domain.wording import counted, difference, few, figure, joined

_MOST_TILES = 5
_FEWEST_TILES = 3

# The largest number of cells that a sentence names; it counts the others.
_NAMED = 3


@dataclass(frozen=True)
class Lead:
    """Keys of cells of a ranking, each tuple in the order of the ranking.

    `first` leads. `tied` cannot be told apart from `first`. `slower` are beaten by `first` or by
    one of `tied`. `open` are lower bounds that no cell beats and that do not beat what `first`
    beats: how good they are is not known.
    """

    first: str
    tied: tuple[str, ...]
    slower: tuple[str, ...]
    open: tuple[str, ...] = ()


def lead(ranking: Ranking) -> Lead | None:
    """The leading cells; None for a ranking without cells."""
    places = ranking.places
    beaten = {number for place in places for number in place.beats}
    unbeaten = [number for number in range(len(places)) if number not in beaten]
    if not unbeaten:
        return None
    first, *others = unbeaten
    bounds = ranking.bounds
    # Beside a value, a lower bound is open; beside a lower bound, one that is above fewer others.
    below = {
        number
        for number in others
        if places[number].cell in bounds
        and (
            places[first].cell not in bounds
            or not set(places[first].beats) <= set(places[number].beats)
        )
    }
    return Lead(
        places[first].cell,
        tuple(places[number].cell for number in others if number not in below),
        tuple(place.cell for number, place in enumerate(places) if number in beaten),
        tuple(places[number].cell for number in others if number in below),
    )


def value_words(found: Estimate, bound: bool = False) -> str:
    """`3,412 (95 %: 3,390 to 3,440)`, `≥ 3,412` for a lower bound; with the unit of a cost."""
    given = shown(found)
    unit = "" if given.unit == "/s" else f" {given.unit}"
    if bound:
        return f"≥ {figure(given.value)}{unit}"
    if given.low is None or given.high is None:
        return f"{figure(given.value)}{unit}"
    return f"{figure(given.value)}{unit} (95 %: {figure(given.low)} to {figure(given.high)})"


def measured_words(cell: CellSummary, estimate: str) -> str:
    """`3,412 (95 %: 3,390 to 3,440) new connections/s`; costs are `of` something."""
    name = estimate_name(estimate)
    what = name if quantity(estimate).dimension == "rate" else f"of {name}"
    return f"{value_words(cell.estimates[estimate], cell.is_bound(estimate))} {what}"


def lead_words(
    found: Lead,
    ranking: Ranking,
    cell: Callable[[str], CellSummary],
    name: Callable[[str], str],
    noun: str = "",
) -> str:
    """`X25519 is the fastest key-exchange group: 3,877 (95 %: ...) new connections/s`, no full
    stop.

    Cells that cannot be told apart are named together, with the largest difference that is open
    between the first and the others; lower bounds are called so.
    """
    one, estimate = cell(found.first), ranking.estimate
    best = "fastest" if quantity(estimate).dimension == "rate" else "cheapest"
    value = measured_words(one, estimate)
    if not found.tied:
        return f"{name(found.first)} is the {best}{noun and f' {noun}'}: {value}"
    names = few([name(key) for key in (found.first, *found.tied)], _NAMED, 1)
    bound = one.is_bound(estimate)
    open_ = "their order is not known"
    if not bound:
        left = next(p.may_differ for p in ranking.places if p.cell == found.first)
        size = "any size" if left is None else f"up to {difference(left)}"
        open_ = f"no difference between them is established, one of {size} is not excluded"
    nouns = f" {noun}s" if noun else ""
    return f"{names} are the {best}{nouns} ({open_}); {name(found.first)}: {value}"


def open_words(
    found: Lead,
    estimate: str,
    cell: Callable[[str], CellSummary],
    name: Callable[[str], str],
) -> str:
    """`how fast P-521 (≥ 1,540) can be is not known: the generator was the limit`, no full stop.

    The sentence names the lower bounds of `found.open`; empty if there are none.
    """
    if not found.open:
        return ""
    first, *others = found.open
    value = value_words(cell(first).estimates[estimate], True)
    more = f", and {counted(len(others), 'other')}" if others else ""
    return (
        f"how fast {name(first)} ({value}){more} can be is not known: the generator was the limit"
    )


def unranked(ranking: Ranking, mates: Iterable[CellSummary]) -> list[CellSummary]:
    """Cells of the ranking's setting that the ranking lacks although the server supports them."""
    there = set(ranking.cells)
    return [each for each in mates if each.key not in there and each.verdict != "unsupported"]


def unranked_words(
    ranking: Ranking, mates: Iterable[CellSummary], name: Callable[[str], str]
) -> str:
    """`not ranked: P-384 (not the server's limit) and X448 (no valid result)`; empty for none."""
    by_reason: dict[str, list[str]] = {}
    for each in unranked(ranking, mates):
        usable = each.verdict in ("valid", "at_least")
        limit = "not the server's limit" if ranking.estimate in each.unsaturated else "not measured"
        by_reason.setdefault(limit if usable else "no valid result", []).append(name(each.key))
    if not by_reason:
        return ""
    parts = [f"{few(each, _NAMED, 1)} ({why})" for why, each in by_reason.items()]
    return f"not ranked: {joined(parts)}"


def tiles(cell: CellSummary) -> tuple[Tile, ...]:
    """The figures of the leading cell: three to five, or none."""
    found = [
        Tile(row.tile, cell.estimates[row.name], cell.is_bound(row.name))
        for row in tile_rows()
        if row.name in cell.estimates
    ]
    return tuple(found[:_MOST_TILES]) if len(found) >= _FEWEST_TILES else ()
