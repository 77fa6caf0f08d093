"""Charts of the Diffie-Hellman sizes: a handshake's cost beside the rate of requests."""

from collections.abc import Callable, Mapping, Sequence

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPEN_REQUESTS, SERVER_COST
from tlslab.domain.figure import Figure, Series
from tlslab.studies.suites.diffie_hellman import SizeCell
from tlslab.studies.suites.places import Place, value

Sizes = Mapping[str, Sequence[SizeCell]]


def size_figures(place: Place, found: Sizes) -> tuple[Figure, ...]:
    """Handshake cost and requests/s by size; none if only one size was measured."""
    drawn = (
        _figure(
            f"dh-handshake-{place.id}",
            f"A new connection by Diffie-Hellman size: {place.label}",
            "Handshake, one request, close.",
            "processor time of the server, µs",
            _lines(found, lambda row: value(row.cell, SERVER_COST)),
        ),
        _figure(
            f"dh-keep-alive-{place.id}",
            f"Requests on connections kept open by Diffie-Hellman size: {place.label}",
            "No handshake is in the measurement: the parameters play no part in it.",
            "requests/s",
            _lines(found, lambda row: value(row.cell, OPEN_REQUESTS)),
        ),
    )
    return tuple(figure for figure in drawn if figure is not None)


def _figure(
    id_: str, title: str, caption: str, y_title: str, series: tuple[Series, ...]
) -> Figure | None:
    if not series:
        return None
    return Figure(id_, title, caption, "line", "bits of the modulus", y_title, series)


def _lines(found: Sizes, of: Callable[[SizeCell], Estimate | None]) -> tuple[Series, ...]:
    series = []
    for suite, rows in found.items():
        known = [(row.bits, each) for row in rows if (each := of(row)) is not None]
        if len(known) > 1:
            series.append(
                Series(
                    name=suite,
                    x=tuple(float(bits) for bits, _ in known),
                    y=tuple(each.value for _, each in known),
                    low=tuple(each.low for _, each in known),
                    high=tuple(each.high for _, each in known),
                )
            )
    return tuple(series)
