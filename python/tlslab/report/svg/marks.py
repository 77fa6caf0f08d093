"""Marks of a chart and their keys: shapes of points, intervals, trials, arrows, signs, textures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tlslab.domain.figure import Figure
from tlslab.report.svg.data import COLOURS, Line, Point
from tlslab.report.svg.markup import joined, path, tag
from tlslab.report.svg.scales import Scale
from tlslab.report.svg.text import exact, in_full, shorten, value_text, width_of, written
from tlslab.words.numbers import range_words

# Half the size of a point's mark, and half the width of a whisker's cap.
RADIUS = 4.0
_CAP = 3.0

# The reach of a lower bound's arrow, from the middle of its mark.
ARROW = 17.0
_HEAD = 3.5

# Shapes after the circle, as steps from their middle for a radius of 1; of about equal area.
_SHAPES: tuple[Sequence[tuple[float, float]], ...] = (
    (),
    ((-0.9, -0.9), (1.8, 0), (0, 1.8), (-1.8, 0)),
    ((0, -1.15), (1.15, 2.05), (-2.3, 0)),
    ((0, -1.25), (1.25, 1.25), (-1.25, 1.25), (-1.25, -1.25)),
    ((0, 1.15), (1.15, -2.05), (-2.3, 0)),
    ((-0.35, -1.1), (0.7, 0), (0, 0.75), (0.75, 0), (0, 0.7), (-0.75, 0), (0, 0.75), (-0.7, 0),
     (0, -0.75), (-0.75, 0), (0, -0.7), (0.75, 0)),
    ((-0.6, -1.05), (1.2, 0), (0.6, 1.05), (-0.6, 1.05), (-1.2, 0), (-0.6, -1.05)),
    ((-1.1, -1.1), (2.2, 0), (-2.2, 2.2), (2.2, 0)),
)  # fmt: skip

# Lines of a texture, in a square of 8 pixels; the first is plain.
_TEXTURES = (
    "",
    "M-2 2 2-2M-1 9 9-1M6 10 10 6",
    "M2 2h.1M6 6h.1",
    "M-2 6 2 10M-1-1 9 9M6-2 10 2",
    "M0 2h8M0 6h8",
    "M0 0 8 8M8 0 0 8",
    "M2 0v8M6 0v8",
    "M0 4h8M4 0v8",
)
_SQUARE = 8.0

# The width of a key's picture, the space after it, and the space between two keys.
_PICTURE = 26.0
_SPACE = 5.0
_BETWEEN = 16.0

# The height of a line of keys, and the space below the last.
_ROW = 18.0
_BELOW = 6.0

_SIDES = {1: "left", 2: "right"}

Picture = Callable[[float, float], Markup]


def marked(line: Line, point: Point) -> dict[str, str]:
    """The attributes by which a script identifies a mark."""
    return {
        "data_name": line.name,
        "data_x": exact(point.x),
        "data_y": "" if point.y is None else exact(point.y),
    }


def hover(line: Line, point: Point, several: bool) -> Markup:
    """The title of a mark: its text without a script."""
    head = f"{line.name}, {exact(point.x)}" if several and line.name else exact(point.x)
    return tag("title", f"{head}: {'; '.join(filter(None, (point.words, line.hollow)))}")


def shape(kind: int, x: float, y: float, *content: str, **attributes: str | None) -> Markup:
    """A mark of a point; `kind` 0 is a circle."""
    if kind == 0:
        return tag("circle", *content, cx=x, cy=y, r=RADIUS, **attributes)
    first, *others = _SHAPES[kind]
    steps: list[str | float] = ["M", x + first[0] * RADIUS, y + first[1] * RADIUS, "l"]
    steps += [step * RADIUS for pair in others for step in pair]
    return tag("path", *content, d=f"{path(*steps)}z", **attributes)


def interval(
    point: Point,
    scale: Scale,
    side: float,
    lying: bool = True,
    moved: float = 0.0,
    on_bar: bool = False,
) -> Markup:
    """The interval of a value along a scale, if it has one, beside it at `side`.

    `moved`: the distance from the value to its place, in the unit of the values.
    """
    if point.interval is None:
        return Markup("")
    low, high = point.interval
    return whisker(scale(low + moved), scale(high + moved), side, lying, on_bar)


def whisker(x1: float, x2: float, y: float, lying: bool = True, on_bar: bool = False) -> Markup:
    """An interval with caps, at `y` from `x1` to `x2`; vertical: at x `y` from y `x1` to `x2`."""
    cap = 2 * _CAP
    if lying:
        steps = path("M", x1, y - _CAP, "v", cap, "m", 0, -_CAP, "H", x2, "m", 0, -_CAP, "v", cap)
    else:
        steps = path("M", y - _CAP, x1, "h", cap, "m", -_CAP, 0, "V", x2, "m", -_CAP, 0, "h", cap)
    return _ground(steps, "w", on_bar) + tag("path", class_="w", d=steps)


def _ground(steps: str, kind: str, on_bar: bool) -> Markup:
    """A light background below a stroke on a bar."""
    return tag("path", class_=f"{kind} ug", d=steps) if on_bar else Markup("")


def arrow(x: float, y: float, lying: bool = True) -> Markup:
    """The arrow of a lower bound, from the edge of its mark to the right or up."""
    length = ARROW - RADIUS - 1
    if lying:
        steps = path("M", x + RADIUS + 1, y, "h", length, "m", -_HEAD, -_HEAD, "l", _HEAD, _HEAD)
        steps += path("l", -_HEAD, _HEAD)
    else:
        steps = path("M", x, y - RADIUS - 1, "v", -length, "m", -_HEAD, _HEAD, "l", _HEAD, -_HEAD)
        steps += path("l", _HEAD, _HEAD)
    return tag("path", class_="w", d=steps)


def trials(
    point: Point,
    scale: Scale,
    side: float,
    name: str,
    lying: bool = True,
    on_bar: bool = False,
) -> Markup:
    """The trials of a value along a scale: a line of zero length with round ends is a dot."""
    values = [value for value in point.samples if scale.holds(value)]
    if not values:
        return Markup("")
    spots = sorted((scale(value), side) if lying else (side, scale(value)) for value in values)
    steps = f"{path('M', *spots[0])}h0"
    for (x, y), (before, above) in zip(spots[1:], spots, strict=False):
        # Differences of rounded positions, so that the dots do not drift.
        steps += f"{path('m', round(x, 1) - round(before, 1), round(y, 1) - round(above, 1))}h0"
    text = " ".join(f"{value:.5g}" for value in values)
    known = tag("path", class_="tr", d=steps, data_name=name, data_samples=text)
    return _ground(steps, "tr", on_bar) + known


def listed(line: Line) -> dict[str, str]:
    """The attributes of a mark that stands for a whole series: its numbers as lists."""
    return {
        "data_name": line.name,
        "data_x": " ".join(exact(point.x) for point in line.known),
        "data_y": " ".join(f"{point.y:.5g}" for point in line.known),
    }


def hover_all(line: Line) -> Markup:
    """The title of a mark that stands for a whole series."""
    values = [point.y or 0.0 for point in line.known]
    if not values:
        return tag("title", f"{line.name}: no value")
    ends = range_words(value_text(min(values)), value_text(max(values)))
    mean = value_text(sum(values) / len(values))
    return tag("title", f"{line.name}: {ends}, on average {mean}")


def sign(x: float, y: float, *content: str) -> Markup:
    """The sign of an objection: a triangle with a stroke and a dot."""
    triangle = tag("path", d=path("M", x, y - 5.5, "l", 6, 10.5, "h", -12, "z"))
    stroke = tag("path", d=f"{path('M', x, y - 1.7)}v3{path('m', 0, 2)}v.1")
    return tag("g", *content, triangle, stroke, class_="sg")


def textures(prefix: str, lines: Sequence[Line]) -> Markup:
    """Definitions of the textures that the series need, once for each colour and texture."""
    needed = {(line.colour, line.shape): line for line in lines if line.shape % COLOURS}
    patterns = (
        tag(
            "pattern",
            tag("rect", width=_SQUARE, height=_SQUARE, class_="f"),
            tag("path", d=_TEXTURES[line.shape], class_="tx"),
            id=f"{prefix}-{colour}-{kind}",
            width=_SQUARE,
            height=_SQUARE,
            patternUnits="userSpaceOnUse",
            class_=colour,
        )
        for (colour, kind), line in needed.items()
    )
    return tag("defs", *patterns) if needed else Markup("")


def filling(prefix: str, line: Line) -> str | None:
    """The `fill` of a series' bars: its texture, or None if the class determines it."""
    return f"url(#{prefix}-{line.colour}-{line.shape})" if line.shape else None


@dataclass(frozen=True)
class Key:
    """A picture, drawn from its left end and its middle, and its meaning."""

    text: str
    picture: Picture


def keys(entries: Sequence[Key], width: float) -> tuple[Markup, float]:
    """The keys in as many lines as they need, and their total height."""
    parts: list[Markup] = []
    x, y = 0.0, _ROW / 2
    for entry in entries:
        text = shorten(entry.text, width - _PICTURE - _SPACE)
        room = _PICTURE + _SPACE + width_of(text)
        if x and x + room > width:
            x, y = 0.0, y + _ROW
        parts.append(entry.picture(x, y))
        full = in_full(entry.text) or (entry.text if text != entry.text else "")
        parts.append(written((text,), x + _PICTURE + _SPACE, y + 4, full=full))
        x += room + _BETWEEN
    height = y + _ROW / 2 + _BELOW if entries else 0.0
    return tag("g", joined(parts), class_="keys") if entries else Markup(""), height


def line_key(line: Line, points: bool, joined_up: bool) -> Key:
    """The key of a series drawn as a line, as points, or both."""

    def picture(x: float, y: float) -> Markup:
        stroke = tag("path", class_=stroke_class(line), d=_stroke(x, y))
        mark = shape(line.shape, x + 13, y, class_="o" if line.dashed else "p")
        parts = [stroke] if joined_up else []
        parts += [mark] if points and not line.reference else []
        return tag("g", *parts, class_="rf" if line.reference else line.colour)

    return Key(line.name, picture)


def _stroke(x: float, y: float) -> str:
    return f"{path('M', x, y)}h26"


def stroke_class(line: Line) -> str:
    """The class of the stroke of a series."""
    return "l d" if line.dashed else "l"


def bar_key(line: Line, prefix: str) -> Key:
    """The key of a series drawn as bars or areas."""

    def picture(x: float, y: float) -> Markup:
        box = tag(
            "rect",
            x=x + 6,
            y=y - 6,
            width=20.0,
            height=12.0,
            class_="b",
            fill=filling(prefix, line),
        )
        return tag("g", box, class_=line.colour)

    return Key(line.name, picture)


def _neutral_line_key(text: str, dashed: bool) -> Key:
    """The key of a stroke that means the same in all colours."""
    classes = "l d" if dashed else "l"
    return Key(text, lambda x, y: tag("path", class_=f"{classes} nt", d=_stroke(x, y)))


def line_keys(figure: Figure, lines: Sequence[Line]) -> list[Key]:
    """Keys of the series, one per name; if axes differ, also the meaning of solid and dashed."""
    first = {line.name: line for line in reversed(lines)}
    shared = len(first) < len(lines) and any(line.axis == 2 or line.hollow for line in lines)
    entries = [
        line_key(line, joined_up=figure.kind == "line" or line.reference, points=True)
        for line in (reversed(first.values()) if shared else lines)
        if line.name
    ]
    if any(line.axis == 2 for line in lines) and shared:
        axes = {line.axis: line.dashed for line in lines if not line.reference}
        entries += [_neutral_line_key(f"{_SIDES[axis]} axis", axes[axis]) for axis in sorted(axes)]
    return [*entries, *sign_keys(lines)]


def sign_keys(lines: Sequence[Line]) -> list[Key]:
    """The keys of whiskers, trials, bounds, objections and hollow marks, as far as they occur."""
    points = [point for line in lines for point in line.points]
    occurring = (
        (any(line.intervals for line in lines), Key("95 % interval", _interval)),
        (any(point.samples for point in points), Key("one trial", _trials)),
        (any(point.bound for point in points), Key("lower bound", _bound)),
        (any(point.objection for point in points), Key("a policy objects", _objection)),
    )
    hollow = dict.fromkeys(line.hollow for line in lines if line.hollow)
    return [
        *(key for there, key in occurring if there),
        *(Key(why, _hollow) for why in hollow),
    ]


def _interval(x: float, y: float) -> Markup:
    return tag("g", whisker(x + 2, x + 24, y), class_="nt")


def _trials(x: float, y: float) -> Markup:
    return tag("path", class_="tr nt", d=f"{path('M', x + 9, y)}h0m8 0h0")


def _hollow(x: float, y: float) -> Markup:
    return tag("g", shape(0, x + 13, y, class_="o"), class_="nt")


def _bound(x: float, y: float) -> Markup:
    return tag("g", shape(0, x + 6, y, class_="o"), arrow(x + 6, y), class_="nt")


def _objection(x: float, y: float) -> Markup:
    return sign(x + 13, y)
