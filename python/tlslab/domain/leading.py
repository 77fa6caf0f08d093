"""The leading cells of rankings. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tlslab.domain.estimates import tiles as tile_rows
from tlslab.domain.finding import CellSummary, Ranking, Summary, Tile
from tlslab.domain.setting import RANKED_FIGURES, figure_id, settings_of

_MOST_TILES = 5
_FEWEST_TILES = 3


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


def unranked(ranking: Ranking, mates: Iterable[CellSummary]) -> list[CellSummary]:
    """Cells of the ranking's setting that the ranking lacks although the server supports them."""
    there = set(ranking.cells)
    return [each for each in mates if each.key not in there and each.verdict != "unsupported"]


@dataclass(frozen=True)
class Led:
    """A ranking, and its leaders."""

    ranking: Ranking
    lead: Lead

    @property
    def leaders(self) -> tuple[str, ...]:
        """The cells that may lead."""
        return (self.lead.first, *self.lead.tied)


def led(rankings: Sequence[Ranking], setting: Mapping[str, str]) -> Led | None:
    """The leaders of a setting, by the first estimate of RANKED_FIGURES that orders its cells."""
    for estimate in RANKED_FIGURES:
        for each in rankings:
            if each.setting == setting and each.estimate == estimate:
                found = lead(each)
                return None if found is None else Led(each, found)
    return None


def answering(summary: Summary) -> Ranking | None:
    """The ranking that the figure of the summary's answer shows."""
    if summary.answer is None:
        return None
    levels = (cell.factors for cell in summary.cells)
    for number, setting in enumerate(settings_of(levels, summary.experiment.baseline), start=1):
        for ranking in summary.rankings:
            what = RANKED_FIGURES.get(ranking.estimate, "")
            if ranking.setting == setting and summary.answer.figure == figure_id(number, what):
                return ranking
    return None


def tiles(cell: CellSummary) -> tuple[Tile, ...]:
    """The figures of the leading cell: three to five, or none."""
    found = [
        Tile(row.tile, cell.estimates[row.name], cell.is_bound(row.name))
        for row in tile_rows()
        if row.name in cell.estimates
    ]
    return tuple(found[:_MOST_TILES]) if len(found) >= _FEWEST_TILES else ()
