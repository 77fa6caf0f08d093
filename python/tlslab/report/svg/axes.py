"""What all axes of charts share: labels of ticks, titles, and labelled vertical lines.

The labels of lines (a knee, a capacity) lie above the plot, in lanes.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tlslab.domain.figure import Figure
from tlslab.report.svg.markup import clean, path, tag
from tlslab.report.svg.scales import Scale
from tlslab.report.svg.text import LINE, exact, fold, shorten, width_of, written

# The distance between a line and its label, and between two labels.
_BESIDE = 4.0
_BETWEEN = 8.0

# The lowest base line of labels above the plot: above the label of the highest tick.
_RAISED = 11.0

# The widest label, as a share of the chart.
_SHARE = 0.6


@dataclass(frozen=True)
class Label:
    """A text at a place of a horizontal axis, folded; `full` is shown on hover if it differs."""

    place: float
    lines: tuple[str, ...]
    full: str = ""


def labels_of(scale: Scale) -> list[Label]:
    """The labels of a scale's ticks."""
    return [Label(scale(tick), (scale.text(tick),)) for tick in scale.ticks]


def drawn_labels(
    labels: Iterable[Label], base: float, width: float, gap: float, ticks_at: float | None = None
) -> tuple[Markup, int]:
    """Labels without those too close to the one before, and the number of lines that they take.

    `ticks_at`: where the small strokes above the labels start; None for none.
    """
    parts: list[Markup] = []
    end, depth = 0.0, 1
    for label in labels:
        half = max(map(width_of, label.lines)) / 2
        middle = min(max(label.place, half + 1), width - half - 1)
        if middle - half < end:
            continue
        end = middle + half + gap
        depth = max(depth, len(label.lines))
        if ticks_at is not None:
            parts.append(tag("path", class_="ax", d=path("M", label.place, ticks_at, "v", 4)))
        parts.append(written(label.lines, middle, base, None, "middle", label.full))
    return tag("g", *parts), depth


def title_below(
    title: str, left: float, right: float, width: float, base: float
) -> tuple[list[Markup], float]:
    """The title of an axis from `left` to `right`, folded into `width`, and its height.

    It is centred if it fits below the axis, else aligned to the left.
    """
    if not title:
        return [], 0.0
    lines = fold(clean(title), width)
    if max(map(width_of, lines)) <= right - left:
        text = written(lines, (left + right) / 2, base + LINE, "t", "middle")
    else:
        text = written(lines, left, base + LINE, "t")
    return [text], float(LINE * len(lines))


@dataclass(frozen=True)
class Note:
    """A line at `x` in pixels, which stands for `value`."""

    value: float
    x: float
    label: str


def noted(figure: Figure) -> list[float]:
    """The numbers of a figure's marks, which the axis must cover."""
    return [mark.x for mark in figure.marks if math.isfinite(mark.x)]


def shaded(figure: Figure, x: Scale, right: float, top: float, bottom: float) -> list[Markup]:
    """The regions from a mark to the end of the plot, each over its whole height."""
    known = (mark.x for mark in figure.marks if mark.onward and math.isfinite(mark.x))
    places = [x(place) for place in known if x.holds(place)]
    return [
        tag("rect", class_="sh", x=place, y=top, width=right - place, height=bottom - top)
        for place in places
    ]


def notes_of(figure: Figure, x: Scale) -> list[Note]:
    """The marks of a figure that have a place on its axis."""
    return [
        Note(mark.x, x(mark.x), clean(mark.label, 80))
        for mark in figure.marks
        if math.isfinite(mark.x) and x.holds(mark.x)
    ]


@dataclass(frozen=True)
class _Label:
    """The label of a line from `left` to `right`, and the number of other lines that cross it."""

    note: Note
    text: str
    left: float
    right: float
    crossed: int

    def over(self, x: float) -> bool:
        """Whether a vertical line at `x` crosses the label."""
        return self.left - 2 < x < self.right + 2

    def near(self, other: "_Label") -> bool:
        """Whether the two labels need different lanes."""
        return self.left < other.right + _BETWEEN and other.left < self.right + _BETWEEN


Drawing = Callable[[float, float], list[Markup]]


def labelled(notes: Sequence[Note], width: float) -> tuple[Drawing, float]:
    """A function that draws the lines between top and bottom of a plot, and the labels' height."""
    labels = [_label(note, notes, width) for note in notes]
    lanes: list[tuple[_Label, int]] = []
    # A label that other lines cross lies in a higher lane than the labels of those lines.
    for label in sorted(labels, key=lambda one: (one.crossed, -one.note.x)):
        lanes.append((label, _lane(label, lanes)))

    def draw(top: float, bottom: float) -> list[Markup]:
        # The highest label first: its line may run below a lower label.
        from_above = sorted(lanes, key=lambda lane: -lane[1])
        return [_drawn(label, top - _RAISED - lane * LINE, bottom) for label, lane in from_above]

    return draw, max((lane + 1 for _, lane in lanes), default=0) * LINE


def _label(note: Note, notes: Sequence[Note], width: float) -> _Label:
    """The label on the side of its line that fewer other lines cross."""
    text = shorten(note.label, width * _SHARE)
    room = width_of(text)
    choices = []
    for left in (note.x + _BESIDE, note.x - _BESIDE - room):
        box = _Label(note, text, left, left + room, 0)
        crossed = sum(box.over(other.x) for other in notes if other is not note)
        if left >= 0 and left + room <= width:
            choices.append(_Label(note, text, left, left + room, crossed))
    if not choices:
        left = min(max(0.0, note.x + _BESIDE), width - room)
        return _Label(note, text, left, left + room, len(notes))
    return min(choices, key=lambda choice: choice.crossed)


def _lane(label: _Label, lanes: Sequence[tuple[_Label, int]]) -> int:
    """The lowest lane where the label is free; lane 0 is the lowest."""
    lane = max((at + 1 for other, at in lanes if label.over(other.note.x)), default=0)
    while any(at == lane and label.near(other) for other, at in lanes):
        lane += 1
    return lane


def _drawn(label: _Label, base: float, bottom: float) -> Markup:
    note = label.note
    return tag(
        "g",
        tag("title", note.label),
        tag("path", d=path("M", note.x, base - 10, "V", bottom)),
        written((label.text,), label.left, base, "h"),
        class_="mk",
        data_x=exact(note.value),
    )
