"""Figures as a page has them: drawn for every width, both axes, with and without objections."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

from markupsafe import Markup

from tlslab.model.figure import Figure, Series
from tlslab.report.page.names import factor_words, short
from tlslab.report.page.numbers import figure_table
from tlslab.report.page.table import Table
from tlslab.report.svg import draw, variants

_Any = TypeVar("_Any")

Role = Literal["picture", "figure", "half", "small", "spare-figure", "spare-half"]

# The widths in pixels for each role: of a phone, a tablet or a sheet of paper, a desktop. Where
# there is no drawing for a desktop, the one before it serves. `spare` roles have one drawing for
# all, which a phone scrolls.
_WIDTHS: dict[Role, tuple[int, ...]] = {
    "picture": (334, 670, 940),
    "figure": (334, 670),
    "half": (334, 458),
    "small": (300,),
    "spare-figure": (670,),
    "spare-half": (334,),
}
_SPARE: dict[Role, Role] = {"figure": "spare-figure", "half": "spare-half"}

# From these degrees of thrift on: one drawing for all widths; long figures without their
# numbers; no values on hover.
_ONE_WIDTH = 2
_SHORT = 4
_BARE = 5
_LONG = 30

_NAMES = ("narrow", "middle", "wide")

# With more values than this, a fitted line says nothing on hover between its marks.
_CROWDED = 80

_TITLE = re.compile(r"<title>[^<]*</title>")
_HIT = re.compile(r'<(\w+) [^>]*class="hit"[^>]*>(?:<title>[^<]*</title></\1>)?')
_HEIGHT = re.compile(r' height="([\d.]+)"')


@dataclass(frozen=True)
class Variant:
    """A drawing with the classes of those that it is for: width, axis, levels."""

    classes: str
    log: bool
    svg: Markup

    @property
    def scrolls(self) -> bool:
        """Whether it is the only one for all widths, which a phone scrolls, by keyboard as well."""
        return self.classes.endswith(" any")


@dataclass(frozen=True)
class Drawn:
    """A figure of the page; `role` decides how large it is.

    `both_axes`: it can be switched between a linear and a logarithmic axis. `listed`: its
    numbers are on the page. `hover`: marks show their values on hover.
    """

    figure: Figure
    role: Role = "figure"
    both_axes: bool = True
    listed: bool = True
    hover: bool = True

    @property
    def id(self) -> str:
        """The id of its element."""
        return f"figure-{self.figure.id}"

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """All drawings, each for its readers."""
        return tuple(self._variants())

    def _variants(self) -> Iterator[Variant]:
        for levels, figure in self._levels():
            for axis, drawn in zip(("axis-first", "axis-other"), variants(figure), strict=True):
                if drawn is None or (axis == "axis-other" and not self.both_axes):
                    continue
                widths = _WIDTHS[self.role]
                for name, width in zip(_NAMES, widths, strict=False):
                    alone = len(widths) == 1
                    svg = draw(drawn, width)
                    if (name == "narrow" and not alone) or not self.hover:
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
        deployable = deployable_of(figure)
        yield ("levels-every" if deployable is None else "levels-all"), figure
        if deployable is not None:
            yield "levels-deployable", deployable

    def lighter(self, thrift: int) -> "Drawn":
        """The same with fewer drawings (`page.layout.layout`)."""
        lean = replace(self, both_axes=False)
        if thrift >= _ONE_WIDTH and self.role in _SPARE:
            lean = replace(lean, role=_SPARE[self.role])
        listed = thrift < _SHORT or self._values <= _LONG
        return replace(lean, listed=listed, hover=thrift < _BARE)

    @property
    def switchable(self) -> bool:
        """Whether it can be drawn on the other kind of axis."""
        return any("axis-other" in variant.classes for variant in self.variants)

    @property
    def objections(self) -> bool:
        """Whether policies object to some of its levels."""
        return any("levels-deployable" in variant.classes for variant in self.variants)

    @property
    def trials(self) -> bool:
        """Whether it has the values of single trials."""
        return any(any(series.samples) for series in self.figure.series)

    @cached_property
    def numbers(self) -> Table:
        """The numbers behind it."""
        return figure_table(self.figure).fitted

    @property
    def height(self) -> float:
        """The height of the largest drawing in pixels."""
        found = (_HEIGHT.search(str(variant.svg)) for variant in self.variants)
        return max((float(match[1]) for match in found if match), default=0.0)

    @property
    def line(self) -> str:
        """What it shows, in a line."""
        what = f"{self.figure.y_title} against {self.figure.x_title}"
        return self.figure.caption or (what if self.figure.x_title else self.figure.y_title)


def _without_hover(svg: Markup) -> Markup:
    """A drawing whose marks have no titles: on a phone nothing hovers, they only take room."""
    head, end, rest = str(svg).partition("</title>")
    rest = _HIT.sub("", rest)
    return Markup(head + end + _TITLE.sub("", rest))


def deployable_of(figure: Figure) -> Figure | None:
    """The ranking without what policies object to; None where that is no other figure."""
    if figure.kind != "ranking" or not any(any(each.objections) for each in figure.series):
        return None
    return replace(figure, series=tuple(_without_objections(each) for each in figure.series))


def _without_objections(series: Series) -> Series:
    def objected(index: int) -> bool:
        return index < len(series.objections) and bool(series.objections[index])

    kept = [index for index in range(len(series.x)) if not objected(index)]

    def some(values: tuple[_Any, ...]) -> tuple[_Any, ...]:
        return tuple(values[index] for index in kept if index < len(values))

    return replace(
        series,
        x=some(series.x),
        y=some(series.y),
        low=some(series.low),
        high=some(series.high),
        samples=some(series.samples),
        bounds=some(series.bounds),
        objections=(),
    )


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
