"""The keys of a chart: the meanings of colours, shapes and signs, in lines above it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tlslab.report.svg.data import Line
from tlslab.report.svg.markup import joined, path, tag
from tlslab.report.svg.suites import in_full
from tlslab.report.svg.symbols import arrow, filling, shape, sign, whisker
from tlslab.report.svg.text_fit import shorten, width_of, written

# The width of a key's picture, the space after it, and the space between two keys.
_PICTURE = 26.0
_SPACE = 5.0
_BETWEEN = 16.0

# The height of a line of keys, and the space below the last.
_ROW = 18.0
_BELOW = 6.0

Picture = Callable[[float, float], Markup]


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


def neutral_line_key(text: str, dashed: bool) -> Key:
    """The key of a stroke that means the same in all colours."""
    classes = "l d" if dashed else "l"
    return Key(text, lambda x, y: tag("path", class_=f"{classes} nt", d=_stroke(x, y)))


def sign_keys(lines: Sequence[Line]) -> list[Key]:
    """The keys of whiskers, trials, lower bounds and objections, as far as they occur."""
    points = [point for line in lines for point in line.points]
    found = (
        (any(line.intervals for line in lines), Key("95 % interval", _interval)),
        (any(point.samples for point in points), Key("one trial", _trials)),
        (any(point.bound for point in points), Key("lower bound", _bound)),
        (any(point.objection for point in points), Key("a policy objects", _objection)),
    )
    return [key for there, key in found if there]


def _interval(x: float, y: float) -> Markup:
    return tag("g", whisker(x + 2, x + 24, y), class_="nt")


def _trials(x: float, y: float) -> Markup:
    return tag("path", class_="tr nt", d=f"{path('M', x + 9, y)}h0m8 0h0")


def _bound(x: float, y: float) -> Markup:
    return tag("g", shape(0, x + 6, y, class_="o"), arrow(x + 6, y), class_="nt")


def _objection(x: float, y: float) -> Markup:
    return sign(x + 13, y)
