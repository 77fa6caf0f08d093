"""The flame graphs of a page: the drawing, and its widest frames as a table."""

from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from tlslab.domain.finding import Summary
from tlslab.domain.stacks import Flame, Frame
from tlslab.domain.wording import counted
from tlslab.report.page.names import short
from tlslab.report.page.table import Cell, Column, Row, Table
from tlslab.report.svg.flame import draw_flame

# The figure whose colours the flame graphs share.
_FIGURE = "why"

# The number of frames in the table: the widest ones that do more than call the next one.
_LISTED = 25

# A frame whose only callee has at least this share of its width adds no information.
_SAME = 0.98


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
                    Cell(each.name.replace("`", ": ")),
                    Cell(each.part),
                    Cell(f"{100 * each.share:.1f}", exact=(repr(each.share),)),
                    Cell(f"{each.samples:,}", exact=(repr(each.samples),)),
                )
            )
            for each in _widest(self.flame)
        )
        return Table(f"flame-{self.flame.id}", self.title, columns, rows).fitted


def drawn_flames(summary: Summary, most: int) -> tuple[DrawnFlame, ...]:
    """The first flame graphs of a summary."""
    names = [s.name for f in summary.figures if f.id == _FIGURE for s in f.series]
    colours = {name: number for number, name in enumerate(names)}
    return tuple(DrawnFlame(each, colours) for each in summary.flames[:most])


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
