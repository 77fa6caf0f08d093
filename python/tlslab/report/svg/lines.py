"""Lines and points over a horizontal axis, with intervals as whiskers or as a band."""

from collections.abc import Sequence
from itertools import groupby

from markupsafe import Markup

from tlslab.domain.figure import Figure
from tlslab.report.svg.data import Line, Point, lines_of
from tlslab.report.svg.keys import (
    Key,
    line_key,
    neutral_line_key,
    sign_keys,
    stroke_class,
)
from tlslab.report.svg.markup import joined, path, tag
from tlslab.report.svg.plane import Plane, plane
from tlslab.report.svg.scales import Scale
from tlslab.report.svg.symbols import arrow, dots, hover, hover_all, listed, marked, shape, whisker

# From this many points on, a band shows intervals better than whiskers, and a line has few marks.
_MANY = 25
_SHOWN = 6

# With more points in a figure, each line is one mark that lists its numbers.
_CROWD = 150

_SIDES = {1: "left", 2: "right"}

# The radius of an invisible mark for the pointer.
_HIT = 5.0


def draw_lines(figure: Figure, width: float) -> tuple[Markup, float]:
    """The chart of a figure of the kind `line` or `points`, and its height."""
    lines = lines_of(figure)
    frame = plane(figure, lines, width, _entries(figure, lines))
    parts = [frame.frame]
    several = len({line.name for line in lines}) > 1
    crowded = figure.kind == "line" and sum(len(line.points) for line in lines) > _CROWD
    for line in sorted(lines, key=lambda each: not each.reference):
        y = frame.y[line.axis - 1]
        parts.append(_series(figure, line, frame, y, several, crowded))
    return joined(parts), frame.height


def _entries(figure: Figure, lines: Sequence[Line]) -> list[Key]:
    """Keys of the series, one per name; if axes differ, also the meaning of solid and dashed."""
    joined_up = figure.kind == "line"
    first = {line.name: line for line in reversed(lines)}
    shared = len(first) < len(lines) and any(line.axis == 2 for line in lines)
    entries = [
        line_key(line, joined_up=joined_up or line.reference, points=True)
        for line in (lines if not shared else reversed(first.values()))
        if line.name
    ]
    if shared:
        axes = {line.axis: line.dashed for line in lines if not line.reference}
        entries += [neutral_line_key(f"{_SIDES[axis]} axis", axes[axis]) for axis in sorted(axes)]
    return [*entries, *sign_keys(lines)]


def _series(
    figure: Figure, line: Line, frame: Plane, y: Scale, several: bool, crowded: bool
) -> Markup:
    """Band, stroke, whiskers, trials and marks of a series, drawn in this order."""
    many = figure.kind == "line" and len(line.points) >= _MANY
    drawn = [p for p in line.points if _holds(frame, p) and p.y is not None and y.holds(p.y)]
    parts: list[Markup] = []
    if many and line.intervals:
        parts.append(_band(line, frame, y))
    if figure.kind == "line" or line.reference:
        parts.append(_stroke(line, frame, y, crowded))
    if not many:
        parts += [_whisker(point, frame, y) for point in drawn]
    for point in drawn:
        held = [value for value in point.samples if y.holds(value)]
        if held:
            x = frame.at(point.x)
            parts.append(dots([(x, y(value)) for value in held], held, line.name))
    if not line.reference:
        every = max(1, len(drawn) // _SHOWN) if many else 1
        for index, point in enumerate(drawn):
            hidden = (index + line.index * every // 3) % every != 0
            place = frame.at(point.x), y(point.y or 0.0)
            if not crowded:
                parts.append(_mark(line, point, place, hidden, several))
            elif not hidden:
                parts.append(shape(line.shape, *place, class_="o" if line.dashed else "p"))
    return tag("g", *parts, class_="rf" if line.reference else line.colour)


def _holds(frame: Plane, point: Point) -> bool:
    return isinstance(point.x, str) or frame.x.holds(point.x)


def _stroke(line: Line, frame: Plane, y: Scale, crowded: bool) -> Markup:
    """The line through the values, interrupted at missing ones."""
    steps = ""
    for there, run in groupby(line.points, lambda p: p.y is not None and y.holds(p.y)):
        held = [point for point in run if there and _holds(frame, point)]
        for index, point in enumerate(held):
            steps += path(" " if index else "M", frame.at(point.x), y(point.y or 0.0))
    if not crowded and not line.reference:
        return tag("path", class_=stroke_class(line), d=steps)
    return tag("path", hover_all(line), class_=stroke_class(line), d=steps, **listed(line))


def _band(line: Line, frame: Plane, y: Scale) -> Markup:
    """The intervals as areas, one for each run of consecutive points with an interval."""
    areas = []
    for there, run in groupby(line.points, lambda p: p.low is not None and p.high is not None):
        held = [point for point in run if there and _holds(frame, point)]
        if held:
            upper = [(frame.at(point.x), y(point.high or 0.0)) for point in held]
            lower = [(frame.at(point.x), y(point.low or 0.0)) for point in reversed(held)]
            steps = "".join(
                path(" " if index else "M", *place) for index, place in enumerate(upper + lower)
            )
            areas.append(f"{steps}z")
    return tag("path", class_="bd", d="".join(areas)) if areas else Markup("")


def _whisker(point: Point, frame: Plane, y: Scale) -> Markup:
    if point.low is None or point.high is None or point.bound:
        return Markup("")
    return whisker(y(point.low), y(point.high), frame.at(point.x), lying=False)


def _mark(
    line: Line, point: Point, place: tuple[float, float], hidden: bool, several: bool
) -> Markup:
    title = hover(line, point, several)
    known = marked(line, point)
    if hidden:
        return tag("circle", title, cx=place[0], cy=place[1], r=_HIT, class_="hit", **known)
    classes = "o" if line.dashed or point.bound else "p"
    if point.objection:
        classes += " mu"
    mark = shape(line.shape, place[0], place[1], title, class_=classes, **known)
    return joined([mark, arrow(*place, lying=False)]) if point.bound else mark
