"""Stacked areas over a horizontal axis: processor use over time."""

from collections.abc import Sequence

from markupsafe import Markup

from tlslab.domain.figure import Figure
from tlslab.report.svg.data import Line, lines_of, places_of
from tlslab.report.svg.keys import bar_key
from tlslab.report.svg.markup import joined, path, tag
from tlslab.report.svg.plane import Plane, plane
from tlslab.report.svg.symbols import filling, hover_all, listed, textures


def draw_areas(figure: Figure, width: float, prefix: str) -> tuple[Markup, float]:
    """The chart of a figure of the kind `areas`, and its height; the first series is lowest."""
    lines = lines_of(figure)
    places = places_of(lines)
    stacks = _stacked(lines, places)
    highest = [value for _, upper in stacks for value in upper]
    frame = plane(
        figure, lines, width, [bar_key(line, prefix) for line in lines if line.name], (highest, [])
    )
    areas = [
        _area(line, places, lower, upper, frame, prefix)
        for line, (lower, upper) in zip(lines, stacks, strict=True)
        if places
    ]
    return joined([textures(prefix, lines), frame.frame, *areas]), frame.height


def _stacked(
    lines: Sequence[Line], places: Sequence[float | str]
) -> list[tuple[list[float], list[float]]]:
    """The lower and upper edge of each series at each place; a missing value has no height."""
    lower = [0.0] * len(places)
    edges = []
    for line in lines:
        values = {point.x: point.y for point in line.points}
        upper = [below + (values.get(x) or 0.0) for below, x in zip(lower, places, strict=True)]
        edges.append((lower, upper))
        lower = upper
    return edges


def _area(
    line: Line,
    places: Sequence[float | str],
    lower: Sequence[float],
    upper: Sequence[float],
    frame: Plane,
    prefix: str,
) -> Markup:
    """One series as one mark, which lists its places and values."""
    y = frame.y[0]
    there = [(frame.at(x), y(value)) for x, value in zip(places, upper, strict=True)]
    back = [(frame.at(x), y(value)) for x, value in zip(places, lower, strict=True)]
    steps = "".join(
        path(" " if index else "M", *place) for index, place in enumerate([*there, *back[::-1]])
    )
    area = tag(
        "path",
        hover_all(line),
        class_="b",
        d=f"{steps}z",
        fill=filling(prefix, line),
        **listed(line),
    )
    return tag("g", area, class_=line.colour)
