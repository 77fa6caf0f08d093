"""One screen of a terminal: what must be there, and as much of the rest as there is room for."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from tlslab.domain.wording import counted

# The lines of a report. With the plan before it (of a proof, also its two configurations), and with
# the place of the results and the reason of the exit code after it, a command prints 40.
LINES = 34

# The most lines of warnings and of the picture. The table has what is left, but these lines, if it
# needs them, before the picture.
WARNINGS = 8
PICTURE = 12
TABLE = 7

# The fewest rows of a longer picture that show anything.
_FEWEST = 3

DETAILS = "--details"


@dataclass(frozen=True)
class Rows:
    """A list, a table or a picture whose first rows can be shown alone.

    `drawn` renders the first N of `count` rows. `total`: how many rows all details have, each a
    `noun`. `lines`: how many lines all rows need at least, whatever the width.
    """

    drawn: Callable[[int], RenderableType]
    count: int
    noun: str
    total: int = 0
    lines: int = 0

    def first(self, number: int) -> RenderableType:
        """The first rows, and the number of the others."""
        others = max(self.total, self.count) - number
        if not others:
            return self.drawn(number)
        what = f"{self.noun}s" if number and others != 1 else self.noun
        more = f"{others:,} more {what}" if number else counted(others, self.noun)
        note = Text(f"  {more}: {DETAILS}", style="dim")
        return Group(self.drawn(number), note) if number else note


@dataclass(frozen=True)
class Screen:
    """A report of at most `lines` lines; its parts are shown in the order of the fields.

    Warnings have room first, then the picture and the table. Without room for a row, or for three
    of a picture, a part is left out; of warnings the number is always there.
    """

    head: RenderableType
    picture: Rows | None
    table: Rows | None
    warnings: Rows | None
    foot: RenderableType
    lines: int = LINES

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        def height(shown: RenderableType) -> int:
            return len(console.render_lines(shown, options, pad=False))

        left = self.lines - height(self.head) - height(self.foot)
        shown: dict[str, RenderableType] = {}
        for name, most in (("warnings", WARNINGS), ("picture", PICTURE), ("table", left)):
            rows: Rows | None = getattr(self, name)
            if rows is None:
                continue
            kept = TABLE if name == "picture" and self.table is not None else 0
            # A blank line goes before each part.
            number = _fitting(rows, min(most, left - kept) - 1, height)
            if name == "picture" and number < min(rows.count, _FEWEST):
                continue
            if number or name == "warnings":
                shown[name] = rows.first(number)
                left -= height(shown[name]) + 1
        yield self.head
        yield from _apart(shown.get(name) for name in ("picture", "table", "warnings"))
        yield self.foot


def _apart(parts: Iterator[RenderableType | None]) -> Iterator[RenderableType]:
    for part in parts:
        if part is not None:
            yield Text()
            yield part


def _fitting(rows: Rows, room: int, height: Callable[[RenderableType], int]) -> int:
    """How many first rows fit into this many lines; 0 if none does."""
    # A table that is far too long is not rendered to be measured.
    most = rows.count if rows.lines <= room else min(rows.count, max(room, 0))
    counts = range(1, most + 1)
    return bisect_left(counts, True, key=lambda count: height(rows.first(count)) > room)
