"""What fits in a few screens of a terminal, by importance; the rest by its titles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from tlslab.model.plain import plain
from tlslab.report.commands import Command


@dataclass(frozen=True)
class Part:
    """A table or list under its title; `size` says in words how much it has, e.g. "48 rows"."""

    title: str
    size: str
    shown: RenderableType


@dataclass(frozen=True)
class Brief:
    """Parts in the order of their importance, in at most `lines` lines of the terminal.

    The first is always shown. A part that has no room any more is named with its size; `more` are
    the words of the command that prints all of them. Without `more` all are shown.
    """

    parts: Sequence[Part]
    lines: int
    more: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        used = 0
        left: list[Part] = []
        for number, part in enumerate(self.parts):
            needs = len(console.render_lines(part.shown, options, pad=False)) if self.more else 0
            if number and used + needs > self.lines:
                left.append(part)
            else:
                used += needs
                yield part.shown
        yield from self._named(left)

    def _named(self, left: Sequence[Part]) -> Iterator[RenderableType]:
        if left:
            yield Command("Not shown here, but printed by ", self.more)
            # A figure may have the title of the table of its numbers.
            sizes: dict[str, str] = {}
            for part in left:
                sizes.setdefault(part.title, part.size)
            for title, size in sizes.items():
                yield Text(f"  {plain(title)} ({size})", style="dim")
            yield Text()
