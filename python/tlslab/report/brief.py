"""A report of a few terminal screens: parts by importance, the others by title only."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from tlslab.domain.plain import plain
from tlslab.domain.wording import counted
from tlslab.report.commands import Command

# The largest number of parts without room that are named with their sizes.
_NAMED = 24


@dataclass(frozen=True)
class Part:
    """A table or list under its title; `size` is its size in words, such as "48 rows".

    `first` renders the part with its first N of `count` rows and a note on the others. A part
    without `first` is shown whole or not at all. `most` is the largest number of rows in a brief
    report. `lines`: how many lines all rows need at least, whatever the width.
    """

    title: str
    size: str
    shown: RenderableType
    count: int = 0
    first: Callable[[int, RenderableType], RenderableType] | None = None
    most: int | None = None
    lines: int = 0


@dataclass(frozen=True)
class Brief:
    """Parts in the order of their importance, in at most `lines` lines of the terminal.

    The first part is cut to the rows that fit. A later part that does not fit is named with its
    size. `more`: the words of the command that prints everything; without them all parts are shown.
    """

    parts: Sequence[Part]
    lines: int
    more: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.more:
            yield from (part.shown for part in self.parts)
            return
        used = 0
        left: list[Part] = []

        def height(shown: RenderableType) -> int:
            return len(console.render_lines(shown, options, pad=False))

        for number, part in enumerate(self.parts):
            rows = part.count if part.most is None else min(part.most, part.count)
            shown = self._shortened(part, rows)
            # A table that is far too long is not rendered to be measured.
            least = min(rows, part.lines)
            needs = least if used + least > self.lines else height(shown)
            if used + needs > self.lines:
                if number or part.first is None:
                    left.append(part)
                    continue
                shown = self._cut(part, height)
                needs = height(shown)
            used += needs
            yield shown
        yield from self._named(left)

    def _cut(self, part: Part, height: Callable[[RenderableType], int]) -> RenderableType:
        """As many first rows of a part as fit; at least one."""
        counts = range(1, part.count)
        room = bisect_left(
            counts, True, key=lambda count: height(self._shortened(part, count)) > self.lines
        )
        return self._shortened(part, max(1, room))

    def _shortened(self, part: Part, count: int) -> RenderableType:
        """A part with its first rows, and the command that prints all."""
        if part.first is None or count >= part.count:
            return part.shown
        rest = Command(f"  the first {count} of {part.size}; all are printed by ", self.more)
        return part.first(count, rest)

    def _named(self, left: Sequence[Part]) -> Iterator[RenderableType]:
        if left:
            # A figure and the table of its numbers may have the same title.
            sizes: dict[str, str] = {}
            for part in left:
                sizes.setdefault(part.title, part.size)
            named = [f"  {plain(title)} ({size})" for title, size in sizes.items()]
            if (others := len(named) - _NAMED) > 0:
                named = [*named[:_NAMED], f"  and {counted(others, 'more part')}"]
            yield Command("Not shown here, but printed by ", self.more)
            yield Group(*(Text(line, style="dim") for line in named), Text())
