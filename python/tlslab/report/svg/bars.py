"""Bars and stacked bars: horizontal in rows over names, vertical over numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from tlslab.domain.figure import Figure
from tlslab.domain.wording import range_words
from tlslab.report.svg.columns import WIDE, Row
from tlslab.report.svg.data import Line, Point, lines_of, named
from tlslab.report.svg.keys import Key, bar_key, sign_keys
from tlslab.report.svg.markup import joined, tag
from tlslab.report.svg.number_text import exact, value_text
from tlslab.report.svg.plane import plane
from tlslab.report.svg.rows import rows
from tlslab.report.svg.scales import Scale
from tlslab.report.svg.symbols import (
    ARROW,
    arrow,
    dots,
    filling,
    hover,
    marked,
    sign,
    textures,
    whisker,
)

# The thickness of a horizontal bar and the space to the next of its row, in pixels.
_BAR = 14.0
_BETWEEN = 3.0

# A stack of more parts has no whiskers.
_WHISKERS = 4

# The largest width of a vertical bar, and the share of the room of its place that bars take.
_WIDEST = 48.0
_SHARE = 0.75


@dataclass(frozen=True)
class Bar:
    """One bar from `base` to `end` in the unit of the values; `track` is its place in its row."""

    line: Line
    point: Point
    track: int
    base: float
    end: float

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval, moved to the end of the bar in a stack."""
        point = self.point
        if point.low is None or point.high is None or point.y is None or point.bound:
            return None
        moved = self.end - point.y
        return point.low + moved, point.high + moved

    @property
    def numbers(self) -> tuple[float, ...]:
        """All numbers that the axis must cover."""
        return (self.base, self.end, *(self.ends or ()), *self.point.samples)


def draw_bars(figure: Figure, width: float, prefix: str) -> tuple[Markup, float]:
    """The chart of a figure of the kind `bars` or `stacked_bars`, and its height."""
    figure = _without_whiskers(figure)
    lines = lines_of(figure)
    groups = _groups(lines, figure.kind == "stacked_bars")
    drawing = _lying if named(lines) or not groups else _standing
    body, height = drawing(figure, lines, groups, width, prefix)
    return joined([textures(prefix, lines), body]), height


def _groups(lines: Sequence[Line], stacked: bool) -> list[list[Bar]]:
    """The bars of each place; a series with a place twice gives two groups."""
    found: dict[tuple[float | str, int], list[Bar]] = {}
    for line in lines:
        seen: dict[float | str, int] = {}
        for point in line.points:
            seen[point.x] = seen.get(point.x, 0) + 1
            group = found.setdefault((point.x, seen[point.x]), [])
            group.append(_bar(line, point, group, stacked))
    places = list(found)
    if not any(isinstance(place, str) for place, _ in places):
        places.sort(key=lambda each: (float(each[0]), each[1]))
    return [found[place] for place in places]


def _bar(line: Line, point: Point, below: Sequence[Bar], stacked: bool) -> Bar:
    value = point.y or 0.0
    if not stacked:
        return Bar(line, point, len(below), 0.0, value)
    base = max((bar.end for bar in below if bar.end > 0), default=0.0)
    if value < 0:
        base = min((bar.end for bar in below if bar.end < 0), default=0.0)
    return Bar(line, point, 0, base, base + value)


def _entries(lines: Sequence[Line], prefix: str) -> list[Key]:
    first = {line.name: line for line in reversed(lines)}
    entries = [bar_key(line, prefix) for line in reversed(first.values()) if line.name]
    if len(entries) == 1:
        entries = []
    return [*entries, *sign_keys(lines)]


def _without_whiskers(figure: Figure) -> Figure:
    """A stack of many parts without whiskers, which would hide the parts; its numbers have them."""
    if figure.kind != "stacked_bars" or len({series.name for series in figure.series}) <= _WHISKERS:
        return figure
    return replace(figure, series=tuple(replace(s, low=(), high=()) for s in figure.series))


def _lying(
    figure: Figure,
    lines: Sequence[Line],
    groups: Sequence[Sequence[Bar]],
    width: float,
    prefix: str,
) -> tuple[Markup, float]:
    bars = [bar for group in groups for bar in group]
    frame = rows(
        figure,
        _entries(lines, prefix),
        [_row(group, figure.kind == "stacked_bars", width >= WIDE) for group in groups],
        [number for bar in bars for number in bar.numbers],
        width,
        zero=True,
        signs=any(bar.point.objection for bar in bars),
        arrows=ARROW if any(bar.point.bound for bar in bars) else 0.0,
    )
    parts = [frame.frame]
    for top, group in zip(frame.tops, groups, strict=True):
        for bar in group:
            y = top + bar.track * (_BAR + _BETWEEN)
            parts.append(_drawn(bar, frame.x, y, _BAR, prefix, True, len(lines) > 1))
            if bar.point.objection:
                title = tag("title", f"{exact(bar.point.x)}: {bar.point.objection}")
                parts.append(sign(frame.sign, y + _BAR / 2, title))
    return joined(parts), frame.height


def _row(group: Sequence[Bar], stacked: bool, wide: bool) -> Row:
    """The row of a name, with the value of each bar, or that of the stack."""
    name = exact(group[0].point.x)
    muted = all(bar.point.objection for bar in group)
    if stacked:
        present = [bar.point.y for bar in group if bar.point.y is not None]
        total = value_text(sum(present)) if present else "–"
        return Row(name, _BAR, ((_BAR / 2, total, ""),), muted)
    values = tuple(
        (bar.track * (_BAR + _BETWEEN) + _BAR / 2, *_value(bar.point, wide)) for bar in group
    )
    return Row(name, len(group) * (_BAR + _BETWEEN) - _BETWEEN, values, muted)


def _value(point: Point, wide: bool) -> tuple[str, str]:
    if point.y is None:
        return "–", ""
    text = value_text(point.y)
    if point.bound:
        return f"≥ {text}", ""
    if not wide or point.low is None or point.high is None:
        return text, ""
    return text, range_words(value_text(point.low), value_text(point.high))


def _standing(
    figure: Figure,
    lines: Sequence[Line],
    groups: Sequence[Sequence[Bar]],
    width: float,
    prefix: str,
) -> tuple[Markup, float]:
    bars = [bar for group in groups for bar in group]
    numbers = [number for bar in bars for number in bar.numbers]
    entries = _entries(lines, prefix)
    first = [replace(line, axis=1) for line in lines]
    frame = plane(figure, first, width, entries, (numbers, []), bars=True)
    tracks = max(bar.track for bar in bars) + 1
    wide = min(_WIDEST * tracks, frame.slot * _SHARE) / tracks
    parts = [frame.frame]
    for bar in bars:
        if isinstance(bar.point.x, str) or not frame.x.holds(bar.point.x):
            continue
        x = frame.at(bar.point.x) + (bar.track - tracks / 2) * wide
        parts.append(_drawn(bar, frame.y[0], x, wide, prefix, False, len(lines) > 1))
    return joined(parts), frame.height


def _drawn(
    bar: Bar, scale: Scale, side: float, thick: float, prefix: str, lying: bool, several: bool
) -> Markup:
    """Bar, interval and trials; `side` is the upper or left edge, `thick` the thickness."""
    point, middle = bar.point, side + thick / 2
    if point.y is None:
        return Markup("")
    ends = sorted((scale(bar.base), scale(bar.end)))
    start, length = ends[0], ends[1] - ends[0]
    box = (start, side, length, thick) if lying else (side, start, thick, length)
    known = marked(bar.line, point)
    parts = [
        tag(
            "rect",
            hover(bar.line, point, several),
            x=box[0],
            y=box[1],
            width=box[2],
            height=box[3],
            class_="b lb" if point.bound else "b",
            fill=None if point.bound else filling(prefix, bar.line),
            **known,
        )
    ]
    held = [value for value in point.samples if scale.holds(value)]
    if held:
        places = [scale(value) for value in held]
        spots = [(x, middle) for x in places] if lying else [(middle, y) for y in places]
        parts.append(dots(spots, held, bar.line.name, on_bar=True))
    if bar.ends is not None:
        low, high = bar.ends
        parts.append(whisker(scale(low), scale(high), middle, lying, on_bar=True))
    if point.bound:
        tip = scale(bar.end)
        parts.append(arrow(tip, middle) if lying else arrow(middle, tip, lying=False))
    return tag("g", *parts, class_="mu" if point.objection else bar.line.colour)
