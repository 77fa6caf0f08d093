"""What fits in a few screens of a terminal, by importance; the rest by its titles."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from tlslab.model.plain import plain
from tlslab.model.wording import counted
from tlslab.report.commands import Command

# The most parts that are named with their sizes where they have no room.
_NAMED = 24


@dataclass(frozen=True)
class Part:
    """A table or list under its title; `size` says in words how much it has, e.g. "48 rows".

    `first` makes it of this many of its `count` rows, with what is to be said of the others; a part
    without it is shown whole or not at all. `most` is the number of rows that a brief report shows.
    """

    title: str
    size: str
    shown: RenderableType
    count: int = 0
    first: Callable[[int, RenderableType], RenderableType] | None = None
    most: int | None = None


@dataclass(frozen=True)
class Brief:
    """Parts in the order of their importance, in at most `lines` lines of the terminal.

    The first is cut to the rows that have room. A later part that has no room any more is named
    with its size; `more` are the words of the command that prints all. Without `more` all are
    shown.
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
            shown = self._shortened(part, part.count if part.most is None else part.most)
            needs = height(shown)
            if number == 0 and part.first is not None and needs > self.lines:
                shown = self._cut(part, height)
                needs = height(shown)
            elif used + needs > self.lines:
                left.append(part)
                continue
            used += needs
            yield shown
        yield from self._named(left)

    def _cut(self, part: Part, height: Callable[[RenderableType], int]) -> RenderableType:
        """As many of a part's first rows as have room; one at least."""
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
            # A figure may have the title of the table of its numbers.
            sizes: dict[str, str] = {}
            for part in left:
                sizes.setdefault(part.title, part.size)
            named = [f"  {plain(title)} ({size})" for title, size in sizes.items()]
            if (others := len(named) - _NAMED) > 0:
                named = [*named[:_NAMED], f"  and {counted(others, 'more part')}"]
            yield Command("Not shown here, but printed by ", self.more)
            yield Group(*(Text(line, style="dim") for line in named), Text())
