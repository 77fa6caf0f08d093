"""The answer of a capacity experiment: the most that a server takes, and within the objective."""

from collections.abc import Sequence

from tlslab.analysis.capacity.cells import CapacityCell
from tlslab.analysis.capacity.naming import cell_names
from tlslab.analysis.compare import compare
from tlslab.analysis.enough import DOTS_ONLY, FEWEST, again, minutes, too_few, too_wide
from tlslab.model.answer import Answer, Lacking, Tile
from tlslab.model.capacity import CapacityPlan
from tlslab.model.figure import Figure
from tlslab.model.leading import value_words
from tlslab.model.run import RunContents
from tlslab.model.wording import counted, figure, percent, ratio_figure

RATE = "connections_per_s"

_FEWEST_TILES = 3
_MOST_TILES = 5

Named = Sequence[tuple[str, CapacityCell]]


def answer(
    contents: RunContents,
    cells: Sequence[CapacityCell],
    plan: CapacityPlan,
    figures: Sequence[Figure],
) -> Answer:
    """The answer by the cell with the highest rate; a lower bound counts by its value."""
    named = list(zip(cell_names([cell.factors for cell in cells]), cells, strict=True))
    able = [(name, cell) for name, cell in named if cell.maximum is not None]
    question = contents.experiment.title
    if not able:
        return Answer(question, (), "", Lacking("No cell has a maximum: the warnings say why."))
    able.sort(key=lambda each: -_value(each[1]))
    name, best = able[0]
    lacking = _lacking(contents, able)
    sentences = () if lacking else (_most(able), *_objective(name, best, plan))
    return Answer(
        question=question,
        sentences=sentences[:2],
        confidence=_confidence(best),
        lacking=lacking,
        tiles=() if lacking else _tiles(best),
        figure=_shown(best, figures, ("maximum",) if lacking else ("achieved", "maximum")),
    )


def _value(cell: CapacityCell) -> float:
    return 0.0 if cell.maximum is None else cell.maximum.value


def _bound(cell: CapacityCell) -> bool:
    return cell.summary.verdict == "at_least"


def _lacking(contents: RunContents, able: Named) -> Lacking | None:
    """What the answer lacks: repetitions, or narrow intervals, in the cells that it names."""
    n = min(len(cell.values.get(RATE, {})) for _, cell in able)
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
    """The highest rate of a cell, and its ratio to the next cell's."""
    name, best = able[0]
    assert best.maximum is not None
    if _bound(best):
        value = f"{value_words(best.maximum, True)} new connections/s; the generator was the limit"
        return f"{_capital(name)}: {value}."
    text = f"{_capital(name)}: {value_words(best.maximum)} new connections/s at most"
    for other_name, other in able[1:2]:
        text += _over(best, other_name, other)
    return f"{text}."


def _over(best: CapacityCell, name: str, other: CapacityCell) -> str:
    """The most over that of the next cell."""
    assert other.maximum is not None
    ratio = compare(best.measured, other.measured, RATE)
    if _bound(other) or ratio is None or ratio.low is None or ratio.high is None:
        return f"; {name}: {value_words(other.maximum, _bound(other))}"
    if not ratio.differs:
        return f"; no difference from {name} is established"
    ends = f"95 %: {ratio_figure(ratio.low)} to {ratio_figure(ratio.high)}"
    return f", {ratio_figure(ratio.ratio)} times ({ends}) that of {name}"


def _objective(name: str, cell: CapacityCell, plan: CapacityPlan) -> tuple[str, ...]:
    """The highest load that meets the objective, where there is one."""
    found = cell.capacity
    if plan.objective is None or found is None or found.n < FEWEST or cell.maximum is None:
        return ()
    load = figure(found.load.value)
    share = f" ({percent(found.load.value / cell.maximum.value)} of the maximum)"
    match found.bound:
        case "exact" if not found.reservation:
            return (f"It meets {plan.objective} up to {value_words(found.load)}/s{share}.",)
        case "exact":
            return (f"It meets {plan.objective} up to {load}/s; {found.reservation}.",)
        case "at_least":
            return (f"It meets {plan.objective} at every load that was tried, up to {load}/s.",)
        case _:
            return (f"It meets {plan.objective} at no load that was tried, from {load}/s on.",)


def _confidence(cell: CapacityCell) -> str:
    n = len(cell.values.get(RATE, {}))
    loads = len({point.fraction for point in cell.points})
    words = f"{counted(n, 'repetition')} of the maximum"
    if n < FEWEST:
        return f"{words}: {DOTS_ONLY}"
    return f"{words}, response times at {counted(loads, 'load')}; intervals of 95 %"


def _tiles(cell: CapacityCell) -> tuple[Tile, ...]:
    estimates = cell.summary.estimates
    fractions = sorted({point.fraction for point in cell.points})
    # The highest load that leaves room; where there is one.
    mark = f"_at_{fractions[-2] * 100:g}" if len(fractions) > 1 else ""
    where = f", {fractions[-2] * 100:g} % load" if mark else ""
    wanted = [
        ("Maximum, new connections/s", RATE, _bound(cell)),
        ("Meets the objective, new connections/s", "capacity_connections_per_s", _exceeded(cell)),
        (f"Response time p50{where}", f"response_ms_p50{mark}", False),
        (f"Response time p99{where}", f"response_ms_p99{mark}", False),
        ("Server's processor time", "server_cpu_us_per_connection", False),
    ]
    found = [
        Tile(title, estimates[name], bound) for title, name, bound in wanted if name in estimates
    ]
    return tuple(found[:_MOST_TILES]) if len(found) >= _FEWEST_TILES else ()


def _exceeded(cell: CapacityCell) -> bool:
    return cell.capacity is not None and cell.capacity.bound == "at_least"


def _shown(best: CapacityCell, figures: Sequence[Figure], wanted: Sequence[str]) -> str:
    """The first of these figures that there is, of the best cell's server."""
    server = best.factors.get("server", "")
    for start in wanted:
        for each in figures:
            if each.id == start or each.id == f"{start}-{server}".rstrip("-"):
                return each.id
    return ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
