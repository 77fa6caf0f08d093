"""A flame graph as SVG: frames over their callers, as wide as their samples.

Positions are percentages, so that one drawing serves every width with letters of the same size. The
colour of a frame is that of its part in the figure of the parts.
"""

from collections.abc import Mapping

from markupsafe import Markup

from tlslab.domain.stacks import Flame, Frame
from tlslab.report.svg.data import COLOURS
from tlslab.report.svg.markup import clean, joined, number, tag

# The height of a frame, and the space between two.
_FRAME = 16
_GAP = 1

# Frames narrower than this share have no room for letters on a usual page.
_NAMED = 0.03

# The number of letters across a wide page; a name is cut at the edge of its frame.
_LETTERS = 200


def draw_flame(flame: Flame, colours: Mapping[str, int]) -> Markup:
    """The flame graph; `colours` has the place of each part in its figure."""
    rows = 1 + max((frame.depth for frame in flame.frames), default=0)
    height = rows * (_FRAME + _GAP)
    frames = [_frame(frame, height, colours.get(frame.part)) for frame in flame.frames]
    return tag(
        "svg",
        tag("title", clean(f"Flame graph: {flame.title}")),
        tag("desc", f"{flame.samples:,} samples; the widest frames are listed below."),
        joined(frames),
        xmlns="http://www.w3.org/2000/svg",
        class_="flame",
        role="img",
        width="100%",
        height=number(height),
    )


def _frame(frame: Frame, height: float, colour: int | None) -> Markup:
    name = clean(frame.name.rpartition("`")[2], 2 + round(frame.share * _LETTERS))
    share = f"{100 * frame.share:.1f} %"
    content = [
        tag("title", clean(f"{frame.name}: {share}, {frame.samples:,} samples, {frame.part}")),
        tag("rect", width="100%", height=str(_FRAME)),
    ]
    if frame.share >= _NAMED:
        content.append(tag("text", name, x="3", y="12"))
    return tag(
        "svg",
        *content,
        x=f"{100 * frame.left:.2f}%",
        y=number(height - (frame.depth + 1) * (_FRAME + _GAP)),
        width=f"{100 * frame.share:.2f}%",
        height=str(_FRAME),
        class_=_class(colour),
    )


def _class(colour: int | None) -> str:
    """The class of a colour; a reused colour is lighter, with an edge."""
    if colour is None:
        return "cn"
    return f"c{colour % COLOURS + 1}" + " li" * (colour >= COLOURS)
