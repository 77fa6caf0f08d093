"""The figures of a page: drawn for every width, both axes, with and without objections.

Flame graphs have one drawing, and their widest frames as a table.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from markupsafe import Markup, escape

from tlslab.domain.figure import Figure, Series
from tlslab.domain.finding import Summary
from tlslab.domain.stacks import Flame, Frame
from tlslab.domain.wording import counted
from tlslab.report.names import factor_words, short
from tlslab.report.numbers import figure_table
from tlslab.report.svg import draw, variants
from tlslab.report.svg.flame import draw_flame
from tlslab.report.table import Cell, Column, Row, Table, exact_text

Role = Literal["picture", "figure", "half", "small", "spare-picture", "spare-figure", "spare-half"]

# The widths in pixels for each role: for a phone, a tablet or a sheet of paper, a desktop. If there
# is no drawing for a desktop, the one before it serves. `spare` roles have a single drawing, which
# a phone scrolls.
_WIDTHS: dict[Role, tuple[int, ...]] = {
    "picture": (334, 670, 940),
    "figure": (334, 670),
    "half": (334, 458),
    "small": (300,),
    "spare-picture": (670,),
    "spare-figure": (670,),
    "spare-half": (334,),
}
_SPARE: dict[Role, Role] = {
    "picture": "spare-picture",
    "figure": "spare-figure",
    "half": "spare-half",
}

# Kinds of figures whose names may be cut after the first ones: they have a row or bars for each.
_OF_NAMES = ("ranking", "bars", "stacked_bars")

_NAMES = ("narrow", "middle", "wide")

# With more values than this, a fitted line shows nothing on hover between its marks.
_CROWDED = 80

# The figure whose colours the flame graphs share.
_FIGURE = "why"

# The number of frames in the table: the widest ones that do more than call the next one.
_LISTED = 25

# A frame whose only callee has at least this share of its width adds no information.
_SAME = 0.98

_TITLE = re.compile(r"<title>[^<]*</title>")
_HIT = re.compile(r'<(\w+) [^>]*class="hit"[^>]*>(?:<title>[^<]*</title></\1>)?')
# The values of trials in a drawing: the page has them with the other numbers.
_SAMPLES = re.compile(r' data-name="[^"]*" data-samples="[^"]*"')
_HEIGHT = re.compile(r' height="([\d.]+)"')


@dataclass(frozen=True)
class Drawing:
    """The level of detail of figures; by default everything.

    `both_axes`: also on the other kind of axis. `widths`: one drawing for each page width, else a
    single one. `listed`: figures with at most this number of values have a table of their numbers;
    the numbers of others are there for "Copy" and "CSV" alone. `hover`: marks show their values.
    `deployable`: rankings are drawn once more without the levels that policies object to. `trials`:
    single trials are drawn. `places`: the largest number of names drawn.
    """

    both_axes: bool = True
    widths: bool = True
    listed: int | None = None
    hover: bool = True
    deployable: bool = True
    trials: bool = True
    places: int | None = None


WHOLE = Drawing()


@dataclass(frozen=True)
class Variant:
    """A drawing with the classes of its use: width, axis, levels."""

    classes: str
    log: bool
    svg: Markup

    @property
    def scrolls(self) -> bool:
        """Whether this is the only drawing for all widths, which a phone scrolls."""
        return self.classes.endswith(" any")


@dataclass(frozen=True)
class Drawn:
    """A figure of the page; `role` determines its size, `drawing` its level of detail."""

    figure: Figure
    role: Role = "figure"
    drawing: Drawing = WHOLE

    @property
    def id(self) -> str:
        """The id of its element."""
        return f"figure-{self.figure.id}"

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """All drawings, one for each combination of width, axis and levels."""
        return tuple(self._variants())

    def _variants(self) -> Iterator[Variant]:
        for levels, figure in self._levels():
            for axis, drawn in zip(("axis-first", "axis-other"), variants(figure), strict=True):
                if drawn is None or (axis == "axis-other" and not self.drawing.both_axes):
                    continue
                widths = _WIDTHS[self.role]
                for name, width in zip(_NAMES, widths, strict=False):
                    alone = len(widths) == 1
                    svg = Markup(_SAMPLES.sub("", str(draw(drawn, width))))
                    if (name == "narrow" and not alone) or not self.drawing.hover:
                        svg = _without_hover(svg)
                    elif self._values > _CROWDED:
                        svg = Markup(_HIT.sub("", str(svg)))
                    classes = f"{levels} {axis} {'any' if alone else name}"
                    yield Variant(classes, drawn.y_log, svg)

    @property
    def _values(self) -> int:
        return sum(len(series.x) for series in self.figure.series)

    def _levels(self) -> Iterator[tuple[str, Figure]]:
        figure = _shortened(self.figure)
        deployable = deployable_of(figure) if self.drawing.deployable else None
        yield ("levels-every" if deployable is None else "levels-all"), figure
        if deployable is not None:
            yield "levels-deployable", deployable

    def lighter(self, drawing: Drawing) -> "Drawn":
        """The figure with fewer drawings, or with less detail (`page.weight`)."""
        if drawing == self.drawing:
            return self
        role = self.role if drawing.widths else _SPARE.get(self.role, self.role)
        figure = self.figure if drawing.trials else _without_trials(self.figure)
        if drawing.places is not None:
            figure = _first(figure, drawing.places)
        return replace(self, figure=figure, role=role, drawing=drawing)

    @property
    def objections(self) -> bool:
        """Whether policies object to some of its levels."""
        return any("levels-deployable" in variant.classes for variant in self.variants)

    @property
    def listed(self) -> bool:
        """Whether the page has a table of its numbers; otherwise only the CSV has them."""
        most = self.drawing.listed
        return self.role != "small" and (most is None or self._values <= most)

    @cached_property
    def numbers(self) -> Table:
        """The numbers behind the figure."""
        return figure_table(self.figure).fitted

    @property
    def numbers_text(self) -> Markup:
        """The numbers with all digits, as lines of tab-separated fields, for an attribute."""
        return escape(exact_text(figure_table(self.figure)))

    @property
    def height(self) -> float:
        """The height of the largest drawing in pixels."""
        heights = (_HEIGHT.search(str(variant.svg)) for variant in self.variants)
        return max((float(match[1]) for match in heights if match), default=0.0)

    @property
    def line(self) -> str:
        """A description of the figure in one line."""
        what = f"{self.figure.y_title} against {self.figure.x_title}"
        return self.figure.caption or (what if self.figure.x_title else self.figure.y_title)


def _without_hover(svg: Markup) -> Markup:
    """A drawing without titles on its marks: a phone has no hover, so that they only take space."""
    head, end, rest = str(svg).partition("</title>")
    rest = _HIT.sub("", rest)
    return Markup(head + end + _TITLE.sub("", rest))


def deployable_of(figure: Figure) -> Figure | None:
    """The ranking without the levels that policies object to; None if that changes nothing."""
    if figure.kind != "ranking" or not any(any(series.objections) for series in figure.series):
        return None
    return replace(figure, series=tuple(_without_objections(series) for series in figure.series))


def _without_objections(series: Series) -> Series:
    kept = [index for index, point in enumerate(series.points) if not point.objection]
    return replace(series.only(kept), objections=())


def _without_trials(figure: Figure) -> Figure:
    if not any(any(series.samples) for series in figure.series):
        return figure
    bare = tuple(replace(series, samples=()) for series in figure.series)
    caption = f"{figure.caption} To keep this page small, single trials are in summary.json alone."
    return replace(figure, caption=caption.strip(), series=bare)


def _first(figure: Figure, most: int) -> Figure:
    """The figure with at most its first N names; other kinds are unchanged."""
    names = list(dict.fromkeys(x for series in figure.series for x in series.x))
    if figure.kind not in _OF_NAMES or len(names) <= most:
        return figure
    first = set(names[:most])
    series = tuple(
        series.only([index for index, x in enumerate(series.x) if x in first])
        for series in figure.series
    )
    caption = f"{figure.caption} The first {most} of {len(names)}; summary.json has all."
    return replace(figure, caption=caption.strip(), series=series)


def _shortened(figure: Figure) -> Figure:
    """The figure with short names of suites, and factors in words."""
    return replace(
        figure,
        title=short(figure.title),
        x_title=", ".join(factor_words(name) for name in figure.x_title.split(", ")),
        series=tuple(
            replace(
                series,
                name=short(series.name),
                x=tuple(short(place) if isinstance(place, str) else place for place in series.x),
            )
            for series in figure.series
        ),
    )


@dataclass(frozen=True)
class DrawnFlame:
    """A flame graph of the page."""

    flame: Flame
    colours: dict[str, int]

    @property
    def title(self) -> str:
        """The label of the cell."""
        return short(self.flame.title)

    @property
    def note(self) -> str:
        """The number of samples, and the frames that are left out."""
        samples = counted(self.flame.samples, "sample")
        return (
            f"{samples}; frames of less than {100 * self.flame.pruned:g} % are left out. Callers "
            "are below; colours are those of the parts above."
        )

    @property
    def svg(self) -> Markup:
        """The drawing."""
        return draw_flame(self.flame, self.colours)

    @cached_property
    def numbers(self) -> Table:
        """The widest frames."""
        columns = (
            Column("function", "function"),
            Column("part", "part"),
            Column("share", "share", "%", number=True),
            Column("samples", "samples", number=True),
        )
        rows = tuple(
            Row(
                (
                    Cell(frame.name.replace("`", ": ")),
                    Cell(frame.part),
                    Cell(f"{100 * frame.share:.1f}", exact=(repr(frame.share),)),
                    Cell(f"{frame.samples:,}", exact=(repr(frame.samples),)),
                )
            )
            for frame in _widest(self.flame)
        )
        return Table(f"flame-{self.flame.id}", self.title, columns, rows).fitted


def drawn_flames(summary: Summary, most: int) -> tuple[DrawnFlame, ...]:
    """The first flame graphs of a summary."""
    names = [s.name for f in summary.figures if f.id == _FIGURE for s in f.series]
    colours = {name: number for number, name in enumerate(names)}
    return tuple(DrawnFlame(flame, colours) for flame in summary.flames[:most])


def _widest(flame: Flame) -> list[Frame]:
    """Named frames, the widest first."""
    named = [
        frame
        for frame, after in zip(flame.frames, [*flame.frames[1:], None], strict=True)
        if not frame.name.endswith("`?") and not _only_calls(frame, after)
    ]
    return sorted(named, key=lambda frame: -frame.share)[:_LISTED]


def _only_calls(frame: Frame, after: Frame | None) -> bool:
    """Whether the frame above has almost all of its samples."""
    above = after is not None and after.depth == frame.depth + 1
    return above and after is not None and after.share >= _SAME * frame.share
