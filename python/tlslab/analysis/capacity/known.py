"""Knowledge about a cell's maximum: its value, or the reasons that the server may take more."""

from tlslab.analysis.capacity import openness
from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.compare import compare
from tlslab.domain.estimates import CONNECTIONS, SERVER_BUSY
from tlslab.domain.finding import Comparison
from tlslab.domain.leading import value_words
from tlslab.domain.wording import ratio_figure


def has_maximum(cell: CapacityCell) -> bool:
    """Whether a cell has a maximum that supports a sentence."""
    return cell.maximum is not None and cell.summary.verdict in ("valid", "at_least")


def is_bound(cell: CapacityCell) -> bool:
    """Whether the maximum is a lower bound. A rate that was not steady is none."""
    return cell.summary.verdict == "at_least" and openness.UNSTEADY not in cell.open


def is_open(cell: CapacityCell) -> bool:
    """Whether the maximum is not known: the server may take more, or may not sustain the rate."""
    return bool(cell.open)


def why_open(cell: CapacityCell) -> str:
    """The reasons that the maximum is not known, in words; empty if it is known."""
    return openness.open_words(cell.open)


def open_label(cell: CapacityCell) -> str:
    """`search inconclusive`, `not steady` or several, unless it is a lower bound; else empty."""
    return "" if is_bound(cell) else openness.open_label(cell.open)


def is_comparable(cell: CapacityCell) -> bool:
    """Whether a cell's rate is its server's limit, so that a ratio may use it."""
    return openness.is_of_server(cell.open, cell.summary.estimates.get(SERVER_BUSY))


def maximum_words(cell: CapacityCell) -> str:
    """`3,412 (95 %: 3,390 to 3,440)`, or `≥ 3,412` for a lower bound."""
    assert cell.maximum is not None
    return value_words(cell.maximum, is_bound(cell))


def over(more: CapacityCell, less: CapacityCell) -> Comparison | None:
    """One cell's maximum over another's; None if one of them does not support a sentence.

    Lower bounds enter with their values; `times_words` and `flag` say which side may be higher.
    """
    if not (has_maximum(more) and has_maximum(less)):
        return None
    return compare(more.measured, less.measured, CONNECTIONS, bounds=True)


def times_words(found: Comparison, more: CapacityCell, less: CapacityCell) -> str:
    """`1.25 (95 %: 1.21 to 1.29)`, with `at least` or `at most` if one maximum is a bound.

    Empty if both are bounds or a rate was not steady: nothing is known about their ratio.
    """
    if not (is_comparable(more) or is_comparable(less)) or unsteady(more, less):
        return ""
    sign = "" if is_comparable(more) else "at least "
    sign = sign if is_comparable(less) else "at most "
    if found.low is None or found.high is None:
        return f"{sign}{ratio_figure(found.ratio)} (no interval)"
    low, high = ratio_figure(found.low), ratio_figure(found.high)
    return f"{sign}{ratio_figure(found.ratio)} (95 %: {low} to {high})"


def unsteady(*cells: CapacityCell) -> bool:
    """Whether the rate of any of the maxima was not steady."""
    return any(openness.UNSTEADY in cell.open for cell in cells)


def chosen_words(*cells: CapacityCell) -> str:
    """The restriction of a ratio if an inconclusive search chose the number of connections."""
    if any(is_open(cell) and is_comparable(cell) for cell in cells):
        return ", at the connections at once that the searches chose (inconclusive: noise)"
    return ""


def flag(more: CapacityCell, less: CapacityCell) -> str:
    """The words before a ratio in a table if a maximum is not known; else empty."""
    if unsteady(more, less):
        return "not steady: "
    match is_comparable(more), is_comparable(less):
        case False, False:
            return "both are lower bounds: "
        case False, True:
            return "at least "
        case True, False:
            return "at most "
    return ""


def why_missing(cell: CapacityCell) -> str:
    """The reason for a missing maximum: the cell's first failure, else its trials' fault."""
    if cell.summary.verdict == "failed":
        for trial in cell.trials:
            if trial.status == "failed" and trial.reason is not None:
                return trial.reason.message
    notes = cell.summary.reasons
    of_maximum = [note for note in notes if not note.code.startswith(("trial_", "search_"))]
    return next((note.message for note in (*of_maximum, *notes)), cell.summary.verdict)
