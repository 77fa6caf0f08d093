"""The forms of charts, each drawn into its frame.

`plane` frames lines, areas and upright bars; `rows` frames rankings and lying bars.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from markupsafe import Markup

from tlslab.domain.figure import Figure
from tlslab.report.svg.data import (
    Line,
    Placed,
    Point,
    grouped,
    lines_of,
    named,
    numbers_of,
    places_of,
)
from tlslab.report.svg.marks import (
    Key,
    arrow,
    bar_key,
    filling,
    hover,
    hover_all,
    interval,
    line_key,
    line_keys,
    listed,
    marked,
    shape,
    sign,
    sign_keys,
    stroke_class,
    textures,
    trials,
)
from tlslab.report.svg.markup import joined, outline, path, tag
from tlslab.report.svg.plane import Plane, plane
from tlslab.report.svg.rows import WIDE, Row, Rows, rows
from tlslab.report.svg.scales import Scale
from tlslab.report.svg.text import exact, value_text

Chart = tuple[Markup, float]

# The height of a mark's track within a row of a ranking, in pixels. With trials, which lie below
# the mark, the track is higher.
_TRACK = 16.0
_TRIALS_TRACK = 22.0
_TRIALS_BELOW = 9.0

# If the smallest value of a ranking is below this share of the largest, the axis shows zero.
_NEAR_ZERO = 0.5

# The thickness of a horizontal bar and the space to the next of its row, in pixels.
_BAR = 14.0
_BETWEEN = 3.0

# A stack of more parts has no whiskers.
_WHISKERS = 4

# The largest width of a vertical bar, and the share of the room of its place that bars take.
_WIDEST = 48.0
_SHARE = 0.75

# From this many points on, a band shows intervals better than whiskers, and a line has few marks.
_MANY = 25
_SHOWN = 6

# With more points in a figure, each line is one mark that lists its numbers.
_CROWD = 150

# The radius of an invisible mark for the pointer.
_HIT = 5.0


def draw_ranking(figure: Figure, width: float) -> Chart:
    """A row for each name, best first, with value, interval and trials along an axis."""
    lines = lines_of(figure)
    groups = grouped(lines)
    points = [point for group in groups for _, point in group]
    numbers = numbers_of(lines)
    track = _TRIALS_TRACK if any(point.samples for point in points) else _TRACK
    entries: list[Key] = []
    if len(lines) > 1:
        entries = [line_key(line, points=True, joined_up=False) for line in lines if line.name]
    frame = rows(
        figure,
        [*entries, *sign_keys(lines)],
        [_row(group, track, _TRACK, 0.0, width) for group in groups],
        points,
        numbers,
        width,
        zero=_has_zero(numbers, len(groups)),
    )
    marks, guides = [], ""
    for top, group in zip(frame.tops, groups, strict=True):
        for index, (line, point) in enumerate(group):
            y = top + track * index + _TRACK / 2
            # A fine line through each mark, from the name to the value.
            guides += path("M", frame.left, y, "H", frame.right)
            marks.append(_ranked(line, point, frame, y, len(lines) > 1))
    guide = tag("path", class_="gd", d=guides) if guides else Markup("")
    return joined([frame.frame, guide, *marks]), frame.height


def _has_zero(numbers: Sequence[float], rows: int) -> bool:
    """Whether the axis of a ranking shows zero. One row is compared with nothing else."""
    if not numbers or min(numbers) < 0:
        return False
    return rows == 1 or min(numbers) <= _NEAR_ZERO * max(numbers)


def _row(group: Sequence[Placed], step: float, thick: float, between: float, width: float) -> Row:
    """The row of a name, with a value in the column on the right for each mark.

    `thick`: the height of a mark; `step`: from one mark to the next; `between`: the space that the
    last mark does not need.
    """
    points = [point for _, point in group]
    values = tuple(
        (step * index + thick / 2, point.text, point.range if width >= WIDE else "")
        for index, point in enumerate(points)
    )
    muted = all(point.objection for point in points)
    return Row(exact(points[0].x), step * len(points) - between, values, muted)


def _ranked(line: Line, point: Point, frame: Rows, y: float, several: bool) -> Markup:
    """Trials, interval, mark, arrow and sign of a value, drawn in this order."""
    x = frame.x
    parts = [trials(point, x, y + _TRIALS_BELOW, exact(point.x))]
    if point.y is not None and x.holds(point.y):
        parts.append(interval(point, x, y))
        parts.append(_mark(line, point, (x(point.y), y), several))
        if point.bound:
            parts.append(arrow(x(point.y), y))
    parts.append(_objection(point, frame, y))
    return tag("g", *parts, class_="mu" if point.objection else line.colour)


def _mark(
    line: Line, point: Point, at: tuple[float, float], several: bool, muted: str = ""
) -> Markup:
    classes = ("o" if line.dashed or line.hollow or point.bound else "p") + muted
    title = hover(line, point, several)
    return shape(line.shape, at[0], at[1], title, class_=classes, **marked(line, point))


def _objection(point: Point, frame: Rows, y: float) -> Markup:
    if not point.objection:
        return Markup("")
    return sign(frame.sign, y, tag("title", f"{exact(point.x)}: {point.objection}"))


@dataclass(frozen=True)
class _Bar:
    """One bar from `base` to `end` in the unit of the values; `track` is its place in its row."""

    line: Line
    point: Point
    track: int
    base: float
    end: float

    @property
    def moved(self) -> float:
        """The distance of the interval's place from the value, in a stack."""
        return self.end - (self.point.y or 0.0)

    @property
    def numbers(self) -> tuple[float, ...]:
        """All numbers that the axis must cover."""
        ends = (end + self.moved for end in self.point.interval or ())
        return (self.base, self.end, *ends, *self.point.samples)


def draw_bars(figure: Figure, width: float, prefix: str) -> Chart:
    """Bars and stacked bars: horizontal in rows over names, vertical over numbers."""
    stacked = figure.kind == "stacked_bars"
    if stacked and len({series.name for series in figure.series}) > _WHISKERS:
        # Whiskers would hide the parts; the figure's numbers have them.
        figure = replace(figure, series=tuple(replace(s, low=(), high=()) for s in figure.series))
    lines = lines_of(figure)
    groups = grouped(lines)
    upright = bool(groups) and not named(lines)
    if upright:
        groups.sort(key=lambda group: float(group[0][1].x))
    entries = list({line.name: bar_key(line, prefix) for line in lines if line.name}.values())
    entries = [*(entries if len(entries) > 1 else []), *sign_keys(lines)]
    chart = _Bars(figure, lines, [_bars(group, stacked) for group in groups], entries, prefix)
    body, height = _upright(chart, width) if upright else _lying(chart, width)
    return joined([textures(prefix, lines), body]), height


@dataclass(frozen=True)
class _Bars:
    """A figure's bars, those of each place together."""

    figure: Figure
    lines: Sequence[Line]
    groups: Sequence[Sequence[_Bar]]
    entries: Sequence[Key]
    prefix: str

    @property
    def all(self) -> list[_Bar]:
        """All bars."""
        return [bar for group in self.groups for bar in group]

    @property
    def numbers(self) -> list[float]:
        """All numbers that the axis must cover."""
        return [number for bar in self.all for number in bar.numbers]


def _bars(group: Sequence[Placed], stacked: bool) -> list[_Bar]:
    """The bars of a place, beside or on each other."""
    bars: list[_Bar] = []
    for line, point in group:
        value, base = point.y or 0.0, 0.0
        if stacked and value < 0:
            base = min((bar.end for bar in bars if bar.end < 0), default=0.0)
        elif stacked:
            base = max((bar.end for bar in bars if bar.end > 0), default=0.0)
        bars.append(_Bar(line, point, 0 if stacked else len(bars), base, base + value))
    return bars


def _lying(chart: _Bars, width: float) -> Chart:
    step = _BAR + _BETWEEN
    stacked = chart.figure.kind == "stacked_bars"
    placed = [[(bar.line, bar.point) for bar in group] for group in chart.groups]
    content = [
        _stack_row(group) if stacked else _row(group, step, _BAR, _BETWEEN, width)
        for group in placed
    ]
    points = [bar.point for bar in chart.all]
    frame = rows(chart.figure, chart.entries, content, points, chart.numbers, width, zero=True)
    parts = [frame.frame]
    for top, group in zip(frame.tops, chart.groups, strict=True):
        for bar in group:
            y = top + bar.track * step
            parts.append(_bar(chart, bar, frame.x, y, _BAR, lying=True))
            parts.append(_objection(bar.point, frame, y + _BAR / 2))
    return joined(parts), frame.height


def _stack_row(group: Sequence[Placed]) -> Row:
    """The row of a stack, with its sum."""
    present = [point.y for _, point in group if point.y is not None]
    total = value_text(sum(present)) if present else "–"
    muted = all(point.objection for _, point in group)
    return Row(exact(group[0][1].x), _BAR, ((_BAR / 2, total, ""),), muted)


def _upright(chart: _Bars, width: float) -> Chart:
    first = [replace(line, axis=1) for line in chart.lines]
    frame = plane(chart.figure, first, width, chart.entries, (chart.numbers, []), bars=True)
    tracks = max(bar.track for bar in chart.all) + 1
    thick = min(_WIDEST * tracks, frame.slot * _SHARE) / tracks
    parts = [frame.frame]
    for bar in chart.all:
        if _holds(frame, bar.point):
            x = frame.at(bar.point.x) + (bar.track - tracks / 2) * thick
            parts.append(_bar(chart, bar, frame.y[0], x, thick, lying=False))
    return joined(parts), frame.height


def _bar(chart: _Bars, bar: _Bar, scale: Scale, side: float, thick: float, lying: bool) -> Markup:
    """Bar, trials and interval; `side` is the upper or left edge, `thick` the thickness."""
    point, middle = bar.point, side + thick / 2
    if point.y is None:
        return Markup("")
    start, end = sorted((scale(bar.base), scale(bar.end)))
    box = (start, side, end - start, thick) if lying else (side, start, thick, end - start)
    parts = [
        tag(
            "rect",
            hover(bar.line, point, len(chart.lines) > 1),
            **dict(zip(("x", "y", "width", "height"), box, strict=True)),
            class_="b lb" if point.bound else "b",
            fill=None if point.bound else filling(chart.prefix, bar.line),
            **marked(bar.line, point),
        ),
        trials(point, scale, middle, bar.line.name, lying, on_bar=True),
        interval(point, scale, middle, lying, bar.moved, on_bar=True),
    ]
    if point.bound:
        tip = scale(bar.end)
        parts.append(arrow(tip, middle) if lying else arrow(middle, tip, lying=False))
    return tag("g", *parts, class_="mu" if point.objection else bar.line.colour)


def draw_areas(figure: Figure, width: float, prefix: str) -> Chart:
    """Stacked areas over a horizontal axis, the first series lowest: processor use over time."""
    lines = lines_of(figure)
    places = places_of(lines)
    edges = [[0.0] * len(places)]
    for line in lines:
        values = {point.x: point.y or 0.0 for point in line.points}
        edges.append([y + values.get(x, 0.0) for y, x in zip(edges[-1], places, strict=True)])
    highest = [value for edge in edges[1:] for value in edge]
    entries = [bar_key(line, prefix) for line in lines if line.name]
    frame = plane(figure, lines, width, entries, (highest, []))
    parts = [textures(prefix, lines), frame.frame]
    for line, lower, upper in zip(lines, edges, edges[1:], strict=False):
        if places:
            there, back = (
                [(frame.at(x), frame.y[0](value)) for x, value in zip(places, edge, strict=True)]
                for edge in (upper, lower)
            )
            area = tag(
                "path",
                hover_all(line),
                class_="b",
                d=f"{outline([*there, *back[::-1]])}z",
                fill=filling(prefix, line),
                **listed(line),
            )
            parts.append(tag("g", area, class_=line.colour))
    return joined(parts), frame.height


def draw_lines(figure: Figure, width: float) -> Chart:
    """Lines or points over a horizontal axis, with intervals as whiskers or as a band."""
    lines = lines_of(figure)
    frame = plane(figure, lines, width, line_keys(figure, lines))
    parts = [frame.frame]
    several = len({line.name for line in lines}) > 1
    crowded = figure.kind == "line" and sum(len(line.points) for line in lines) > _CROWD
    for line in sorted(lines, key=lambda line: not line.reference):
        parts.append(_series(figure, line, frame, several, crowded))
    return joined(parts), frame.height


def _series(figure: Figure, line: Line, frame: Plane, several: bool, crowded: bool) -> Markup:
    """Band, stroke, whiskers, trials and marks of a series, drawn in this order."""
    y = frame.y[line.axis - 1]
    many = figure.kind == "line" and len(line.points) >= _MANY
    drawn = [
        (point, (frame.at(point.x), y(point.y)))
        for point in line.points
        if _holds(frame, point) and point.y is not None and y.holds(point.y)
    ]
    parts: list[Markup] = []
    if many and line.intervals:
        parts.append(_band(line, frame, y))
    if figure.kind == "line" or line.reference:
        parts.append(_stroke(line, frame, y, crowded))
    if not many:
        parts += [interval(point, y, x, lying=False) for point, (x, _) in drawn]
    parts += [trials(point, y, x, line.name, lying=False) for point, (x, _) in drawn]
    every = max(1, len(drawn) // _SHOWN) if many else 1
    for index, (point, at) in enumerate([] if line.reference else drawn):
        hidden = (index + line.index * every // 3) % every != 0
        if not crowded:
            parts.append(_line_mark(line, point, at, hidden, several))
        elif not hidden:
            parts.append(shape(line.shape, *at, class_="o" if line.dashed else "p"))
    return tag("g", *parts, class_="rf" if line.reference else line.colour)


def _holds(frame: Plane, point: Point) -> bool:
    return isinstance(point.x, str) or frame.x.holds(point.x)


def _stroke(line: Line, frame: Plane, y: Scale, crowded: bool) -> Markup:
    """The line through the values, interrupted at missing ones."""
    steps = ""
    for there, run in groupby(line.points, lambda p: p.y is not None and y.holds(p.y)):
        held = [point for point in run if there and _holds(frame, point)]
        steps += outline((frame.at(point.x), y(point.y or 0.0)) for point in held)
    if not crowded and not line.reference:
        return tag("path", class_=stroke_class(line), d=steps)
    return tag("path", hover_all(line), class_=stroke_class(line), d=steps, **listed(line))


def _band(line: Line, frame: Plane, y: Scale) -> Markup:
    """The intervals as areas, one for each run of consecutive points with an interval."""
    areas = ""
    for there, run in groupby(line.points, lambda p: p.low is not None and p.high is not None):
        held = [point for point in run if there and _holds(frame, point)]
        if held:
            upper = [(frame.at(point.x), y(point.high or 0.0)) for point in held]
            lower = [(frame.at(point.x), y(point.low or 0.0)) for point in reversed(held)]
            areas += f"{outline(upper + lower)}z"
    return tag("path", class_="bd", d=areas) if areas else Markup("")


def _line_mark(
    line: Line, point: Point, at: tuple[float, float], hidden: bool, several: bool
) -> Markup:
    if hidden:
        title, known = hover(line, point, several), marked(line, point)
        return tag("circle", title, cx=at[0], cy=at[1], r=_HIT, class_="hit", **known)
    mark = _mark(line, point, at, several, " mu" if point.objection else "")
    return joined([mark, arrow(*at, lying=False)]) if point.bound else mark
