"""Charts as SVG, made together with the page: no script draws them (ADR 0066).

`draw` makes the chart of a figure; `templates/charts.css` has the colours of its classes.
"""

import re
import zlib
from collections.abc import Iterator
from dataclasses import replace

from markupsafe import Markup

from tlslab.domain.figure import Figure
from tlslab.report.svg.data import lines_of, numbers_of, places_of
from tlslab.report.svg.forms import draw_areas, draw_bars, draw_lines, draw_ranking
from tlslab.report.svg.markup import clean, number, tag
from tlslab.report.svg.scales import WIDE

# The widths of charts in pixels: for a phone, for half a page, for a whole page.
SIZES = (342, 700, 1100)

__all__ = ["SIZES", "draw", "variants"]


def draw(figure: Figure, width: int) -> Markup:
    """The figure as an SVG element of `width` pixels, with exactly the axes that the figure
    defines.

    A mark has the attributes `data-name`, `data-x`, `data-y` with the numbers of its series, and a
    title for hovering. The group `frame` has the scales as `data-across`, `data-up`, `data-up2`:
    `linear` or `log`, both ends in numbers, both ends in pixels. A dashed series of two values,
    without intervals and trials, is drawn as a reference line, such as a diagonal.
    """
    prefix = _prefix(figure, width)
    if figure.kind == "ranking":
        body, height = draw_ranking(figure, width)
    elif figure.kind == "areas":
        body, height = draw_areas(figure, width, prefix)
    elif figure.kind in ("bars", "stacked_bars"):
        body, height = draw_bars(figure, width, prefix)
    else:
        body, height = draw_lines(figure, width)
    return tag(
        "svg",
        tag("title", clean(figure.title)),
        tag("desc", " ".join(_description(figure))),
        body,
        xmlns="http://www.w3.org/2000/svg",
        class_="fig",
        role="img",
        width=str(width),
        height=number(height),
        viewBox=f"0 0 {width} {number(height)}",
        data_figure=re.sub(r"[^A-Za-z0-9-]", "", figure.id),
    )


def variants(figure: Figure) -> tuple[Figure, Figure | None]:
    """The figure on the axis that suits it best, and the figure on the other kind of axis.

    Values that span more than a factor of 20 suit a logarithmic axis, but bars, areas and a ranking
    of one row start at zero. There is no other kind if any value is not positive.
    """
    lines = lines_of(figure)
    numbers = numbers_of(lines, 1) + numbers_of(lines, 2)
    if figure.kind == "ranking" and len(places_of(lines)) == 1:
        return replace(figure, y_log=False), None
    if figure.kind not in ("ranking", "line", "points") or not numbers or min(numbers) <= 0:
        return figure, None
    if not figure.y_log and max(numbers) > WIDE * min(numbers):
        figure = replace(figure, y_log=True)
    return figure, replace(figure, y_log=not figure.y_log)


def _prefix(figure: Figure, width: int) -> str:
    """The prefix of the ids in a chart; it differs from those of all other charts of a page."""
    known = zlib.crc32(repr((figure, width)).encode("utf-8", "replace"))
    return f"f{known:08x}"


def _description(figure: Figure) -> Iterator[str]:
    """The text of a screen reader beside the title: the caption, and the amount of data."""
    if figure.caption:
        yield clean(figure.caption)
    lines = lines_of(figure)
    count = sum(point.y is not None for line in lines for point in line.points)
    yield f"{count} values of {len(lines)} series at {len(places_of(lines))} places."
