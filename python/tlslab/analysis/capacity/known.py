"""What is known of a cell's maximum: its value, or that the server may take more, and why."""

from tlslab.analysis.capacity import openness
from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.compare import compare
from tlslab.model.finding import Comparison
from tlslab.model.leading import value_words
from tlslab.model.wording import ratio_figure

RATE = "connections_per_s"


def has_maximum(cell: CapacityCell) -> bool:
    """Whether a cell has a maximum that a sentence may rest on."""
    return cell.maximum is not None and cell.summary.verdict in ("valid", "at_least")


def is_bound(cell: CapacityCell) -> bool:
    """Whether the maximum is a lower bound: that of a rate that was not steady is none."""
    return cell.summary.verdict == "at_least" and openness.UNSTEADY not in cell.open


def is_open(cell: CapacityCell) -> bool:
    """Whether the maximum is not known: the server may take more, or not so many for long."""
    return bool(cell.open)


def why_open(cell: CapacityCell) -> str:
    """Why the maximum is not known, in words; empty where it is."""
    return openness.open_words(cell.open)


def open_label(cell: CapacityCell) -> str:
    """`search inconclusive`, `not steady` or several, of what is no lower bound; else empty."""
    return "" if is_bound(cell) else openness.open_label(cell.open)


def is_comparable(cell: CapacityCell) -> bool:
    """Whether the rate of a cell is one of its server, which a ratio may rest on."""
    return openness.is_of_server(cell.open, cell.summary.estimates.get("server_busy"))


def maximum_words(cell: CapacityCell) -> str:
    """`3,412 (95 %: 3,390 to 3,440)`, or `≥ 3,412` for a lower bound."""
    assert cell.maximum is not None
    return value_words(cell.maximum, is_bound(cell))


def over(more: CapacityCell, less: CapacityCell) -> Comparison | None:
    """One cell's maximum over another's; None where a sentence may not rest on one of them.

    Lower bounds are compared as they are: `times_words` and `flag` say which side may be more.
    """
    if not (has_maximum(more) and has_maximum(less)):
        return None
    return compare(more.measured, less.measured, RATE, bounds=True)


def times_words(found: Comparison, more: CapacityCell, less: CapacityCell) -> str:
    """`1.25 (95 %: 1.21 to 1.29)`, with `at least` or `at most` where one maximum is a bound.

    Empty where both are, or where a rate was not steady: then nothing is known of their ratio.
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
    """What a ratio holds for, where a search that was inconclusive chose the connections."""
    if any(is_open(cell) and is_comparable(cell) for cell in cells):
        return ", at the connections at once that the searches chose (inconclusive: noise)"
    return ""


def flag(more: CapacityCell, less: CapacityCell) -> str:
    """What stands before a ratio in a table where a maximum is not known; else empty."""
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
    """Why a cell has no valid maximum: its first failure, else what made its trials unusable."""
    if cell.summary.verdict == "failed":
        for trial in cell.trials:
            if trial.status == "failed" and trial.reason is not None:
                return trial.reason.message
    notes = cell.summary.reasons
    of_maximum = [note for note in notes if not note.code.startswith(("trial_", "search_"))]
    return next((note.message for note in (*of_maximum, *notes)), cell.summary.verdict)
