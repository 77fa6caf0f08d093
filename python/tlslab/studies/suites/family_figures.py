"""Figures of the suites study: suites by family, fastest first in each."""

from collections.abc import Sequence

from tlslab.analysis.compare import Measured
from tlslab.domain.estimates import OPEN_MEMORY, OPEN_REQUESTS, SERVER_COST, quantity
from tlslab.domain.figure import Figure, Series
from tlslab.domain.wording import joined
from tlslab.studies.suites.places import FAMILIES, Place, family, short_name, usable, value

_MEGA = 1e6


def figures(place: Place) -> tuple[Figure, ...]:
    """Requests/s, handshake cost and memory of a place, if they were measured."""
    drawn = (
        _bars(
            place,
            OPEN_REQUESTS,
            "Requests on connections kept open",
            "Connections were made before the measurement: no handshake is in it."
            f"{place.dhe_words}",
            "requests/s",
        ),
        _bars(
            place,
            SERVER_COST,
            "What a new connection costs the server",
            f"Handshake, one request, close.{place.dhe_words}",
            "processor time, µs",
        ),
        _bars(
            place,
            OPEN_MEMORY,
            "Memory of the server",
            "At the end of the measurement, with all connections open.",
            "MB",
            scale=1 / _MEGA,
        ),
    )
    return tuple(figure for figure in drawn if figure is not None)


def _bars(
    place: Place, estimate: str, title: str, caption: str, y_title: str, scale: float = 1.0
) -> Figure | None:
    cells = [cell for cell in place.usual if usable(cell, estimate)]
    if not cells:
        return None
    return Figure(
        id=f"suites-{estimate.replace('_', '-')}-{place.id}",
        title=f"{title}: {place.label}",
        caption=caption + _left_out(place, estimate),
        kind="bars",
        x_title="",
        y_title=y_title,
        series=tuple(
            _series(name, [cell for cell in cells if family(cell) == name], estimate, scale)
            for name in (*FAMILIES, "TLS 1.3")
            if any(family(cell) == name for cell in cells)
        ),
    )


def _left_out(place: Place, estimate: str) -> str:
    """The suites that have a value and no bar, in words to follow the caption."""
    valued = [cell for cell in place.usual if value(cell, estimate) is not None]
    names = [short_name(cell) for cell in valued if not usable(cell, estimate)]
    return f" Not drawn, being lower bounds or not valid: {joined(names)}." if names else ""


def _series(name: str, cells: Sequence[Measured], estimate: str, scale: float) -> Series:
    """One family, its best suite first."""
    ordered = sorted(
        cells,
        key=lambda cell: cell.summary.estimates[estimate].value,
        reverse=quantity(estimate).more_is_better,
    )
    estimates = [each for cell in ordered if (each := value(cell, estimate)) is not None]
    return Series(
        name=name,
        x=tuple(short_name(cell) for cell in ordered),
        y=tuple(each.value * scale for each in estimates),
        low=tuple(None if each.low is None else each.low * scale for each in estimates),
        high=tuple(None if each.high is None else each.high * scale for each in estimates),
    )
