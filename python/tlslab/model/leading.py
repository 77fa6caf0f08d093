"""Which cells of a ranking lead, among all or among those that may be used; in a sentence."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tlslab.model.answer import Tile
from tlslab.model.estimate import Estimate
from tlslab.model.estimates import estimate_name, shown
from tlslab.model.finding import CellSummary, Ranking
from tlslab.model.wording import figure, joined, number_word

# The figures of the cell that leads, by estimate, in their order.
_TILES = {
    "connections_per_s": "New connections/s",
    "keep_alive_requests_per_s": "Requests/s, connections kept open",
    "server_cpu_us_per_connection": "Server's processor time",
    "client_cpu_us_per_connection": "Client's processor time",
    "handshake_ms_p50": "Handshake, median",
    "wire_bytes_per_handshake": "Handshake on the wire",
}
_MOST_TILES = 5
_FEWEST_TILES = 3

# The most cells that a sentence names; of more the first, and how many others there are.
_NAMED = 3


@dataclass(frozen=True)
class Lead:
    """Keys of cells: `first`, those that none beats beside it, and those that one of them beats."""

    first: str
    tied: tuple[str, ...]
    slower: tuple[str, ...]


def lead(ranking: Ranking, allowed: Collection[str] | None = None) -> Lead | None:
    """Who leads among the allowed cells, by default all; None when there are none."""
    places = [
        (number, place)
        for number, place in enumerate(ranking.places)
        if allowed is None or place.cell in allowed
    ]
    beaten = {number for _, place in places for number in place.beats}
    first, *tied = [place.cell for number, place in places if number not in beaten] or [""]
    slower = tuple(place.cell for number, place in places if number in beaten)
    return Lead(first, tuple(tied), slower) if first else None


def is_bound(cell: CellSummary, estimate: str) -> bool:
    """Whether a cell's estimate is a lower bound, because the generator was the limit."""
    of_new = cell.verdict == "at_least" and estimate.endswith("_per_s")
    return estimate in cell.lower_bounds or (of_new and not estimate.startswith("keep_alive_"))


def value_words(found: Estimate, bound: bool = False) -> str:
    """`3,412 (95 %: 3,390 to 3,440)`, `≥ 3,412` for a lower bound; with the unit of a cost."""
    given = shown(found)
    unit = "" if given.unit == "/s" else f" {given.unit}"
    if bound:
        return f"≥ {figure(given.value)}{unit}"
    if given.low is None or given.high is None:
        return f"{figure(given.value)}{unit}"
    return f"{figure(given.value)}{unit} (95 %: {figure(given.low)} to {figure(given.high)})"


def lead_words(
    found: Lead,
    estimate: str,
    cell: Callable[[str], CellSummary],
    name: Callable[[str], str],
    noun: str = "",
) -> str:
    """`X25519 is the fastest key-exchange group: 3,877 (95 %: ...) new connections/s`, no stop.

    Several that cannot be told apart are named together; lower bounds are called so.
    """
    one = cell(found.first)
    bound = is_bound(one, estimate)
    # Lower bounds below a value that is known do not share the lead in words: nobody knows.
    level = [key for key in found.tied if is_bound(cell(key), estimate) == bound]
    best = "fastest" if estimate.endswith("_per_s") else "cheapest"
    value = f"{value_words(one.estimates[estimate], bound)} {_measure(estimate)}"
    if not level:
        return f"{name(found.first)} is the {best}{noun and f' {noun}'}: {value}"
    names = [name(key) for key in (found.first, *level)]
    if len(names) > _NAMED:
        names = [names[0], f"{number_word(len(names) - 1)} others"]
    open_ = "their order is not known" if bound else "no difference between them is established"
    nouns = f" {noun}s" if noun else ""
    return f"{joined(names)} are the {best}{nouns} ({open_}); {names[0]}: {value}"


def _measure(estimate: str) -> str:
    """What a value is of: rates are counted, costs are `of` something."""
    name = estimate_name(estimate)
    return name if estimate.endswith("_per_s") else f"of {name}"


def tiles(cell: CellSummary) -> tuple[Tile, ...]:
    """The figures of the cell that leads: three to five, or none."""
    found = [
        Tile(title, cell.estimates[name], is_bound(cell, name))
        for name, title in _TILES.items()
        if name in cell.estimates
    ]
    return tuple(found[:_MOST_TILES]) if len(found) >= _FEWEST_TILES else ()
