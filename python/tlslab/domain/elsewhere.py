"""The sentences beside the leader of a setting: connections kept open, other settings. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tlslab.domain.estimates import OPEN_REQUESTS
from tlslab.domain.finding import CellSummary, Ranking
from tlslab.domain.leading import Lead, lead, lead_words
from tlslab.domain.setting import RANKED_FIGURES
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import cell_label, counted, difference, joined

# The largest number of settings with another leader that a sentence names.
_NAMED = 2


@dataclass(frozen=True)
class Led:
    """A ranking, and its leaders."""

    ranking: Ranking
    lead: Lead


@dataclass(frozen=True)
class Cells:
    """The cells that sentences mention: each by key, and its name."""

    cell: Callable[[str], CellSummary]
    name: Callable[[str], str]


def led(rankings: Sequence[Ranking], setting: Mapping[str, str], cells: Cells) -> Led | None:
    """The leader of a setting, by the first estimate of RANKED_FIGURES that orders its cells."""
    for estimate in RANKED_FIGURES:
        for each in rankings:
            if each.setting == setting and each.estimate == estimate:
                found = lead(each)
                return None if found is None else Led(each, found)
    return None


def fewest(found: Led, cells: Cells) -> int:
    """The smallest number of trials among the cells that may lead."""
    leaders = (found.lead.first, *found.lead.tied)
    return min(cells.cell(key).estimates[found.ranking.estimate].n for key in leaders)


def beside(
    first: Led, others: Sequence[Led], rankings: Sequence[Ranking], cells: Cells
) -> tuple[str, ...]:
    """A sentence on kept connections, or on the first cell in other settings; or none."""
    if len(first.ranking.cells) == 1:
        return ()
    if kept := _kept_open(first.ranking, rankings, cells):
        return (kept,)
    enough = [each for each in others if fewest(each, cells) >= LEAST_BLOCKS]
    return _in_other_settings(first, enough, cells)


def _kept_open(ranking: Ranking, rankings: Sequence[Ranking], cells: Cells) -> str:
    """The cell that answers most requests in the setting; empty if that is not known."""
    other = next(
        (r for r in rankings if r.setting == ranking.setting and r.estimate == OPEN_REQUESTS), None
    )
    found = None if other is None else lead(other)
    if other is None or found is None or ranking.estimate == OPEN_REQUESTS or not found.slower:
        return ""
    if fewest(Led(other, found), cells) < LEAST_BLOCKS:
        return ""
    return f"{lead_words(found, other, cells.cell, cells.name)}."


def _in_other_settings(first: Led, others: Sequence[Led], cells: Cells) -> tuple[str, ...]:
    """A sentence on whether the leader of one setting leads the other settings, too."""
    name = cells.name(first.lead.first)
    known = [each for each in others if name in _names(each, cells)]
    behind = [each for each in known if name not in _leaders(each, cells)]
    if behind:
        words = [
            f"{' or '.join(_leaders(each, cells)[:_NAMED])} with {cell_label(each.ranking.setting)}"
            for each in behind[:_NAMED]
        ]
        if more := len(behind) - len(words):
            words.append(f"others in {counted(more, 'more setting')}")
        return (f"Elsewhere another leads: {joined(words)}.",)
    if not known:
        return ()
    where = f"In {counted(len(known), 'other setting')}"
    if len(known) == len(others):
        where = f"In the {counted(len(known), 'other setting')}"
    if len(others) == 1:
        where = f"With {cell_label(known[0].ranking.setting)},"
    alone = all(len(_leaders(each, cells)) == 1 for each in known)
    if alone:
        leads = f"{name} alone leads" if first.lead.tied else f"{name} leads, too"
        return (f"{where} {leads}.",)
    return (f"{where} {name} leads, or cannot be told apart from the first ({_open(known)}).",)


def _open(found: Sequence[Led]) -> str:
    """The largest difference between the leaders that is not excluded."""
    left = [
        place.may_differ
        for each in found
        for place in each.ranking.places
        if each.lead.tied and place.cell == each.lead.first
    ]
    known = [each for each in left if each is not None]
    if len(known) < len(left):
        return "by how much they may differ is not known"
    return f"they may differ by up to {difference(max(known))}"


def _leaders(found: Led, cells: Cells) -> list[str]:
    return [cells.name(key) for key in (found.lead.first, *found.lead.tied)]


def _names(found: Led, cells: Cells) -> list[str]:
    """The cells whose place is known. The place of an open lower bound is not."""
    return [*_leaders(found, cells), *map(cells.name, found.lead.slower)]
