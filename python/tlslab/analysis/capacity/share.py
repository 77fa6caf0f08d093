"""The load that meets the objective as a share of the maximum, with its interval. Pure."""

from dataclasses import replace

from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.known import has_maximum, is_open, unsteady
from tlslab.analysis.stats.estimate import MOVER, ratio_of
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import SHARE
from tlslab.domain.figure import TableCell
from tlslab.domain.wording import share_with_interval

METHOD = f"the load over the maximum; {MOVER}"


def share_of_maximum(cell: CapacityCell) -> Estimate | None:
    """The load of a cell's capacity over its maximum; None without either.

    None, too, if the maximum was of a rate that was not steady: the share may then be less or more.
    The load was offered and has no error: the interval is that of the maximum alone. A load above
    the maximum by more than its error has no share: the maximum was measured too low.
    """
    found = cell.capacity
    if found is None or cell.maximum is None or not has_maximum(cell) or unsteady(cell):
        return None
    load = replace(found.load, low=found.load.value, high=found.load.value)
    share = ratio_of(load, cell.maximum, SHARE, METHOD)
    if (share.value if share.low is None else share.low) > 1:
        return None
    high = None if share.high is None else min(1.0, share.high)
    return replace(share, value=min(1.0, share.value), high=high)


def of_maximum(cell: CapacityCell) -> str:
    """`, at most 75 % (95 %: 70 to 81) of the maximum`, of a load in words; empty for none."""
    share = share_of_maximum(cell)
    if share is None:
        return ""
    most = "at most " if is_open(cell) else ""
    return f", {most}{share_with_interval(share)} of the maximum"


def share_cell(cell: CapacityCell) -> TableCell:
    """The share in a table, with the side on which it is a bound; None where nothing is known.

    A load that is not confirmed has no share.
    """
    found, share = cell.capacity, share_of_maximum(cell)
    if found is None or share is None:
        return None
    if found.bound == "below":
        return f"below {share_with_interval(share)}"
    if not found.is_confirmed or is_open(cell):
        return None
    return f"at least {share_with_interval(share)}"
