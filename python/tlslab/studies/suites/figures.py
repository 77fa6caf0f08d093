"""Figures of the suites study: suites by family, and Diffie-Hellman sizes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tlslab.analysis.compare import Measured
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    OPEN_MEMORY,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    RATIO,
    SERVER_COST,
    quantity,
)
from tlslab.domain.figure import Figure, Series
from tlslab.domain.wording import joined
from tlslab.studies.suites.classes import ClassOrder
from tlslab.studies.suites.diffie_hellman import SizeCell
from tlslab.studies.suites.places import FAMILIES, SuitePlace, family, short_name, usable, value

# Bars by family: estimate, title, caption, whether DHE suites stand there by one size, title of the
# axis, factor to its unit.
_BARS = (
    (
        OPEN_REQUESTS,
        "Requests on connections kept open",
        "Connections were made before the measurement: no handshake is in it.",
        True,
        "requests/s",
        1.0,
    ),
    (
        SERVER_COST,
        "What a new connection costs the server",
        "Handshake, one request, close.",
        True,
        "processor time, µs",
        1.0,
    ),
    (
        OPEN_MEMORY,
        "Memory of the server",
        "At the end of the measurement, with all connections open.",
        False,
        "MB",
        1e-6,
    ),
)

# Lines over sizes: start of the id, estimate, title, caption, title of the axis.
_LINES = (
    (
        "dh-handshake",
        SERVER_COST,
        "A new connection by Diffie-Hellman size",
        "Handshake, one request, close.",
        "processor time of the server, µs",
    ),
    (
        "dh-keep-alive",
        OPEN_REQUESTS,
        "Requests on connections kept open by Diffie-Hellman size",
        "No handshake is in the measurement: the parameters play no part in it.",
        "requests/s",
    ),
)


# The ratio of the first class to itself.
_ONE = Estimate(1.0, None, None, 0, RATIO, "the class itself")

# What the ratio of classes is of.
_OF_CLASSES = {
    OPEN_REQUESTS: "requests/s on connections kept open",
    OPEN_SERVER_COST: "the server's time for a request on a connection kept open",
    SERVER_COST: "the server's time for a new connection",
}


def class_figure(place: SuitePlace, found: ClassOrder) -> Figure | None:
    """Each class over the first one, in the order of the study; None without any to compare."""
    if not any(found.to_first.values()):
        return None
    rows = [(found.first, None), *found.to_first.items()]
    known = [(f"{n}. {name}", each) for n, (name, each) in enumerate(rows, start=1)]
    ratios = [(name, each.ratio.as_estimate if each else None) for name, each in known]
    series = Series.of(f"ratio to {found.first}", [(known[0][0], _ONE), *ratios[1:]])
    samples = tuple(() if each is None else tuple(np.exp(each.logs).tolist()) for _, each in known)
    return Figure(
        id=f"suites-classes-{found.estimate.replace('_', '-')}-{place.id}",
        title=f"Suites by class, {_OF_CLASSES[found.estimate]}: {place.label}",
        caption=(
            f"Ratio of each class to {found.first}, over the key exchanges, certificates and key "
            "sizes that both have, paired by block. The numbers are the study's order by requests, "
            "1 the fastest."
        ),
        kind="ranking",
        x_title="class, in the study's order",
        y_title=f"ratio to {found.first}",
        series=(replace(series, samples=samples),),
    )


def family_figures(place: SuitePlace) -> Iterator[Figure]:
    """Requests/s, handshake cost and memory of a place, if they were measured."""
    for estimate, title, caption, sized, y_title, scale in _BARS:
        cells = [cell for cell in place.usual if usable(cell, estimate)]
        of_family = {name: [c for c in cells if family(c) == name] for name in FAMILIES}
        if cells:
            yield Figure(
                id=f"suites-{estimate.replace('_', '-')}-{place.id}",
                title=f"{title}: {place.label}",
                caption=f"{caption}{place.dhe_words if sized else ''}{_left_out(place, estimate)}",
                kind="bars",
                x_title="",
                y_title=y_title,
                series=tuple(
                    _bars(name, members, estimate, scale)
                    for name, members in of_family.items()
                    if members
                ),
            )


def _left_out(place: SuitePlace, estimate: str) -> str:
    """The suites that have a value and no bar, in words to follow the caption."""
    valued = [cell for cell in place.usual if value(cell, estimate) is not None]
    names = [short_name(cell) for cell in valued if not usable(cell, estimate)]
    return f" Not drawn, being lower bounds or not valid: {joined(names)}." if names else ""


def _bars(name: str, cells: Sequence[Measured], estimate: str, scale: float) -> Series:
    """One family, its best suite first."""
    bars = [(short_name(c), c.summary.estimates[estimate].scaled(scale, "")) for c in cells]
    better = quantity(estimate).more_is_better
    bars.sort(key=lambda bar: bar[1].value, reverse=better)
    return Series.of(name, bars)


def size_figures(place: SuitePlace, found: Mapping[str, Sequence[SizeCell]]) -> Iterator[Figure]:
    """Handshake cost and requests/s by size; none if only one size was measured."""
    for name, estimate, title, caption, y_title in _LINES:
        series = []
        for suite, rows in found.items():
            for generated in (False, True):
                of = [row for row in rows if row.is_generated is generated]
                values = [(float(row.bits), value(row.cell, estimate)) for row in of]
                known = [(bits, each) for bits, each in values if each is not None]
                label = f"{suite}, generated" if generated else suite
                if len(known) > 1:
                    series.append(Series.of(label, known, dashed=generated))
        if series:
            yield Figure(
                id=f"{name}-{place.id}",
                title=f"{title}: {place.label}",
                caption=caption,
                kind="line",
                x_title="bits of the modulus",
                y_title=y_title,
                series=tuple(series),
            )
