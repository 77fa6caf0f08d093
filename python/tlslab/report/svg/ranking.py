"""A ranking: a row for each name, best first, with value, interval and trials along an axis."""

from collections.abc import Sequence

from markupsafe import Markup

from tlslab.domain.figure import Figure
from tlslab.domain.wording import range_words
from tlslab.report.svg.columns import WIDE, Row
from tlslab.report.svg.data import Line, Point, lines_of, numbers_of
from tlslab.report.svg.keys import (
    Key,
    line_key,
    sign_keys,
)
from tlslab.report.svg.markup import joined, path, tag
from tlslab.report.svg.number_text import exact, value_text
from tlslab.report.svg.rows import Rows, rows
from tlslab.report.svg.symbols import ARROW, arrow, dots, hover, marked, shape, sign, whisker

# The height of a mark's track within its row, in pixels.
_TRACK = 16.0

# With trials, which lie below the mark, the track is higher.
_TRIALS_TRACK = 22.0
_TRIALS_BELOW = 9.0

# If the smallest value is below this share of the largest, the axis shows zero.
_NEAR_ZERO = 0.5

Placed = tuple[Line, Point]


def draw_ranking(figure: Figure, width: float) -> tuple[Markup, float]:
    """The chart of a figure of the kind `ranking`, and its height."""
    lines = lines_of(figure)
    content = _by_name(lines)
    track = _TRIALS_TRACK if any(p.samples for line in lines for p in line.points) else _TRACK
    points = [point for held in content for _, point in held]
    numbers = numbers_of(lines)
    objections = any(point.objection for point in points)
    frame = rows(
        figure,
        _entries(lines),
        [_row(held, track, width >= WIDE) for held in content],
        numbers,
        width,
        zero=bool(numbers) and 0 <= min(numbers) <= _NEAR_ZERO * max(numbers),
        signs=objections,
        arrows=ARROW if any(point.bound for point in points) else 0.0,
    )
    parts = [frame.frame, _guides(frame, content, track)]
    for top, held in zip(frame.tops, content, strict=True):
        for index, (line, point) in enumerate(held):
            parts.append(
                _mark(line, point, frame, top + track * index + _TRACK / 2, len(lines) > 1)
            )
    return joined(parts), frame.height


def _by_name(lines: Sequence[Line]) -> list[list[Placed]]:
    """The values of each name, in the order of the names; a repeated name has two rows."""
    found: dict[tuple[str, int], list[Placed]] = {}
    for line in lines:
        seen: dict[str, int] = {}
        for point in line.points:
            name = exact(point.x)
            seen[name] = seen.get(name, 0) + 1
            found.setdefault((name, seen[name]), []).append((line, point))
    return list(found.values())


def _row(held: Sequence[Placed], track: float, wide: bool) -> Row:
    """The row of a name, with a value in the column on the right for each series."""
    values = tuple(
        (track * index + _TRACK / 2, _value(point), _beside(point) if wide else "")
        for index, (_, point) in enumerate(held)
    )
    muted = all(point.objection for _, point in held)
    return Row(exact(held[0][1].x), track * len(held), values, muted)


def _beside(point: Point) -> str:
    """The interval of a value in words, if there is one."""
    if point.y is None or point.bound or point.low is None or point.high is None:
        return ""
    return range_words(value_text(point.low), value_text(point.high))


def _value(point: Point) -> str:
    if point.y is None:
        return "–"
    return f"≥ {value_text(point.y)}" if point.bound else value_text(point.y)


def _entries(lines: Sequence[Line]) -> list[Key]:
    """The keys of what occurs; a single series needs none."""
    entries = []
    if len(lines) > 1:
        entries = [line_key(line, points=True, joined_up=False) for line in lines if line.name]
    return [*entries, *sign_keys(lines)]


def _guides(frame: Rows, content: Sequence[Sequence[Placed]], track: float) -> Markup:
    """A fine line through each mark, from the name to the value."""
    steps = "".join(
        path("M", frame.left, top + track * index + _TRACK / 2, "H", frame.right)
        for top, held in zip(frame.tops, content, strict=True)
        for index in range(len(held))
    )
    return tag("path", class_="gd", d=steps) if steps else Markup("")


def _mark(line: Line, point: Point, frame: Rows, y: float, several: bool) -> Markup:
    """Trials, interval, mark, arrow and sign of a value, drawn in this order."""
    x = frame.x
    parts: list[Markup] = []
    held = [value for value in point.samples if x.holds(value)]
    if held:
        parts.append(dots([(x(value), y + _TRIALS_BELOW) for value in held], held, exact(point.x)))
    if point.y is not None and x.holds(point.y):
        if point.low is not None and point.high is not None and not point.bound:
            parts.append(whisker(x(point.low), x(point.high), y))
        hollow = line.dashed or point.bound
        mark = shape(
            line.shape,
            x(point.y),
            y,
            hover(line, point, several),
            class_="o" if hollow else "p",
            **marked(line, point),
        )
        parts.append(mark)
        if point.bound:
            parts.append(arrow(x(point.y), y))
    if point.objection:
        parts.append(sign(frame.sign, y, tag("title", f"{exact(point.x)}: {point.objection}")))
    return tag("g", *parts, class_="mu" if point.objection else line.colour)
