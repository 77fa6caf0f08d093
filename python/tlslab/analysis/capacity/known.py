"""What is known of a cell's maximum: its value, or that the server may take more, and why."""

from tlslab.analysis.capacity.cells import CapacityCell
from tlslab.analysis.compare import compare
from tlslab.analysis.validity import SERVER_LOADED
from tlslab.model.finding import Comparison
from tlslab.model.leading import value_words
from tlslab.model.wording import figure, ratio_figure

RATE = "connections_per_s"

_NOISE = "search_noise"

# Why the server may take more than was measured, by the codes of a cell's notes.
_OPEN = {
    "client_saturated": "the generator was the limit",
    "search_generator_bound": "the generator was the limit",
    "shared_processor": "server and generator share a processor",
    "search_still_rising": "the rate still rose at the most connections that were tried",
    "search_errors_rise": "the search for the maximum was inconclusive (errors rise)",
    _NOISE: "the search for the maximum was inconclusive (noise)",
}


def has_maximum(cell: CapacityCell) -> bool:
    """Whether a cell has a maximum that a sentence may rest on."""
    return cell.maximum is not None and cell.summary.verdict in ("valid", "at_least")


def is_bound(cell: CapacityCell) -> bool:
    """Whether the maximum is a lower bound."""
    return cell.summary.verdict == "at_least"


def is_open(cell: CapacityCell) -> bool:
    """Whether the server may take more: a lower bound, or a search that was inconclusive."""
    return bool(why_open(cell))


def why_open(cell: CapacityCell) -> str:
    """Why the server may take more, in words; empty where the maximum is known.

    Noise may hide the best number of connections. Where the server was busy all the same, another
    number brings it little: its maximum is known.
    """
    busy = cell.summary.estimates.get("server_busy")
    saturated = busy is not None and busy.value >= SERVER_LOADED
    codes = [note.code for note in cell.summary.reasons]
    reasons = [_OPEN[c] for c in codes if c in _OPEN and not (saturated and c == _NOISE)]
    return ", and ".join(dict.fromkeys(reasons))


def maximum_words(cell: CapacityCell) -> str:
    """`3,412 (95 %: 3,390 to 3,440)`, or `≥ 3,412` for a lower bound."""
    assert cell.maximum is not None
    return value_words(cell.maximum, is_bound(cell))


def short_words(cell: CapacityCell) -> str:
    """As `maximum_words`, where a search was inconclusive with that in place of the interval."""
    if is_bound(cell) or not is_open(cell):
        return maximum_words(cell)
    assert cell.maximum is not None
    return f"{figure(cell.maximum.value)}, search inconclusive"


def over(more: CapacityCell, less: CapacityCell) -> Comparison | None:
    """One cell's maximum over another's; None where a sentence may not rest on one of them.

    A lower bound counts where it is the greater one.
    """
    if not (has_maximum(more) and has_maximum(less)):
        return None
    return compare(more.measured, less.measured, RATE, bounds=True)


def times_words(found: Comparison, more: CapacityCell, less: CapacityCell) -> str:
    """`1.25 (95 %: 1.21 to 1.29)`, with `at least` or `at most` where one maximum is open.

    Empty where both are: then nothing is known of their ratio.
    """
    if is_open(more) and is_open(less):
        return ""
    sign = "at least " if is_open(more) else "at most " if is_open(less) else ""
    if found.low is None or found.high is None:
        return f"{sign}{ratio_figure(found.ratio)} (no interval)"
    low, high = ratio_figure(found.low), ratio_figure(found.high)
    return f"{sign}{ratio_figure(found.ratio)} (95 %: {low} to {high})"


def flag(more: CapacityCell, less: CapacityCell) -> str:
    """What stands before a ratio in a table where a maximum is a lower bound; else empty."""
    match is_bound(more), is_bound(less):
        case True, True:
            return "both are lower bounds: "
        case True, False:
            return "at least "
        case False, True:
            return "at most "
    return ""
