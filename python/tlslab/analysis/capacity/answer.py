"""The answer of a capacity experiment: a server's highest rate, at all and within the objective."""

from collections.abc import Sequence
from textwrap import shorten

from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.figures import identifier
from tlslab.analysis.capacity.known import (
    has_maximum,
    is_bound,
    is_comparable,
    is_open,
    maximum_words,
    open_label,
    over,
    unsteady,
    why_missing,
)
from tlslab.analysis.capacity.naming import cell_names
from tlslab.analysis.capacity.points import judged
from tlslab.analysis.enough import DOTS_ONLY, FEWEST, again, minutes, too_few
from tlslab.analysis.ranking import differing
from tlslab.domain.capacity import CapacityPlan
from tlslab.domain.enough import too_wide
from tlslab.domain.estimates import CAPACITY, CONNECTIONS, RESPONSE, SERVER_COST, at_load, quantile
from tlslab.domain.figure import Figure
from tlslab.domain.finding import Answer, Lacking, Tile
from tlslab.domain.run import RunContents
from tlslab.domain.wording import capital, counted, difference, figure, ratio_figure

_FEWEST_TILES = 3
_MOST_TILES = 5

# The largest number of characters of a reason in a sentence.
_REASON = 80

Named = Sequence[tuple[str, CapacityCell]]


def answer(
    contents: RunContents,
    cells: Sequence[CapacityCell],
    plan: CapacityPlan,
    figures: Sequence[Figure],
) -> Answer:
    """The answer from the cell with the highest valid rate; a lower bound counts by its value."""
    named = list(zip(cell_names([cell.factors for cell in cells]), cells, strict=True))
    able = [(name, cell) for name, cell in named if has_maximum(cell)]
    question = contents.experiment.title
    if not able:
        return Answer(question, (), "", Lacking("No cell has a valid maximum: Details say why."))
    able.sort(key=lambda each: -_value(each[1]))
    name, best = able[0]
    lacking = _lacking(contents, able)
    within = _objective(name, best, plan)
    sentences = (_most(able), *(_missing(named) or within))
    if lacking:
        sentences = within if best.searched else ()
    return Answer(
        question=question,
        sentences=sentences[:2],
        confidence=_confidence(best, len(able)),
        lacking=lacking,
        tiles=() if lacking else _tiles(best),
        figure=_shown(best, figures, ("maximum",) if lacking else ("achieved", "maximum")),
    )


def _value(cell: CapacityCell) -> float:
    return 0.0 if cell.maximum is None else cell.maximum.value


def _lacking(contents: RunContents, able: Named) -> Lacking | None:
    """The repetitions or precision that the cells in the answer lack; None if nothing."""
    n = min(len(cell.values.get(CONNECTIONS, {})) for _, cell in able)
    if n < FEWEST:
        return too_few(contents, max(1, n), "repetition")
    for name, cell in able:
        assert cell.maximum is not None
        if too_wide(cell.maximum.low, cell.maximum.high):
            why = f"The interval of the maximum is too wide for a sentence: {name}."
            command = again(contents, "--blocks", str(2 * n))
            return Lacking(why, command, minutes(contents, 2.0))
    return None


def _most(able: Named) -> str:
    """A cell's highest rate, its ratio to the next known one, and cells that may exceed it."""
    (name, best), *others = able
    assert best.maximum is not None
    rate = f"at least {figure(best.maximum.value)}" if is_bound(best) else maximum_words(best)
    text = f"{capital(name)}: {rate} new connections/s"
    if not is_open(best):
        text += " at most"
    elif unsteady(best):
        text += ", a rate that was not steady"
    elif not is_bound(best):
        text += " or more"
    return f"{text}{_over(able)}{_others(others)}."


def _over(able: Named) -> str:
    """The highest maximum over that of the next cell whose maximum is known.

    The rates select the two cells, therefore every pair of all cells is tested (Holm).
    """
    best = able[0][1]
    if unsteady(best):
        return ""
    known = [n for n, (_, cell) in enumerate(able) if n and is_comparable(cell)]
    if not known:
        return ""
    name, other = able[known[0]]
    ratio = over(best, other)
    if ratio is None or ratio.low is None or ratio.high is None:
        return f"; {name}: {maximum_words(other)}"
    if differing([cell.measured for _, cell in able], CONNECTIONS)[0, known[0]] is None:
        left = ""
        if is_comparable(best) and ratio.may_differ is not None:
            left = f" (by {difference(ratio.may_differ)} at most)"
        return f"; no difference from {name} is established{left}"
    if not is_comparable(best):
        return f", at least {ratio_figure(ratio.low)} times that of {name}"
    ends = f"95 %: {ratio_figure(ratio.low)} to {ratio_figure(ratio.high)}"
    return f", {ratio_figure(ratio.ratio)} times ({ends}) that of {name}"


def _others(others: Named) -> str:
    """The other cells whose server may take more than measured, and more than the first's."""
    names = [name for name, cell in others if is_open(cell)]
    if not names:
        return ""
    return f"; {names[0] if len(names) == 1 else counted(len(names), 'other')} may take more"


def _missing(named: Named) -> tuple[str, ...]:
    """The cells without a valid maximum, though their server does what they ask for."""
    found = [
        (name, cell)
        for name, cell in named
        if not has_maximum(cell) and cell.summary.verdict != "unsupported"
    ]
    if not found:
        return ()
    (name, first), *others = found
    more = f" and {counted(len(others), 'other')}" if others else ""
    why = shorten(why_missing(first), _REASON, placeholder=" ...")
    return (f"No valid maximum: {name} ({why}){more}.",)


def _objective(name: str, cell: CapacityCell, plan: CapacityPlan) -> tuple[str, ...]:
    """The highest load that meets the objective, if there is an objective."""
    found = cell.capacity
    if plan.objective is None or found is None or not cell.has_answer:
        return ()
    return (f"{capital(name)} meets {plan.objective} {found.words}.",)


def _confidence(cell: CapacityCell, cells: int) -> str:
    """The certainty of the answer, for the best of N cells."""
    n = len(cell.values.get(CONNECTIONS, {}))
    loads = len({point.fraction for point in cell.points})
    words = f"{counted(n, 'repetition')} of the maximum"
    if n < FEWEST:
        return f"{words}: {DOTS_ONLY}"
    words += f", response times at {counted(loads, 'load')}; intervals of 95 %"
    pairs = cells * (cells - 1) // 2
    return f"{words}; {counted(pairs, 'pair')} of cells tested together" if pairs > 1 else words


def _tiles(cell: CapacityCell) -> tuple[Tile, ...]:
    estimates = cell.summary.estimates
    highest = max((point.fraction for point in cell.points), default=0.0)
    # The highest load below the highest offered one whose runs say something about the server.
    fraction = max((p.fraction for p in judged(cell.points) if p.fraction < highest), default=None)
    p50, p99 = (
        quantile(RESPONSE, p) if fraction is None else at_load(quantile(RESPONSE, p), fraction)
        for p in (50, 99)
    )
    where = "" if fraction is None else f", {fraction * 100:g} % load"
    label = open_label(cell)
    maximum = f"New connections/s, {label}" if label else "Maximum, new connections/s"
    wanted = [
        (maximum, CONNECTIONS, is_bound(cell)),
        ("Meets the objective, new connections/s", CAPACITY, True),
        (f"Response time p50{where}", p50, False),
        (f"Response time p99{where}", p99, False),
        ("Server's processor time", SERVER_COST, False),
    ]
    found = [
        Tile(title, estimates[name], bound) for title, name, bound in wanted if name in estimates
    ]
    return tuple(found[:_MOST_TILES]) if len(found) >= _FEWEST_TILES else ()


def _shown(best: CapacityCell, figures: Sequence[Figure], wanted: Sequence[str]) -> str:
    """The first of the wanted figures that exists for the best cell's server."""
    server = best.factors.get("server", "")
    for start in wanted:
        for each in figures:
            if each.id in (start, identifier(start, server)):
                return each.id
    return ""
