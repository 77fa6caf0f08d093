"""A command to be retyped: folded between words, so that it can be copied at any width."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from tlslab.domain.plain import plain

_INDENT = "    "
_LONGEST = 2000


@dataclass(frozen=True)
class Command:
    """The text before a command, and its words; a shell reads the folded lines as one."""

    head: str
    words: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = folded(self.words, options.max_width, self.head)
        yield Text("\n".join(lines), style="dim", no_wrap=True, overflow="ignore")


def folded(words: Sequence[str], width: int, head: str = "") -> list[str]:
    """The command's lines, each but the last with a backslash at its end.

    An option stays with its value if there is room; a word longer than a line stays whole.
    """
    lines = [head]
    begun = False
    for piece in _pieces(words):
        gap = " " if begun else ""
        if begun and len(lines[-1]) + len(gap + piece) + 2 > width:
            lines[-1] += " \\"
            lines.append(_INDENT)
            gap = ""
        lines[-1] += gap + piece
        begun = True
    return lines


def _pieces(words: Sequence[str]) -> list[str]:
    """Words quoted for a shell, each option together with its value."""
    pieces: list[str] = []
    for word in words:
        quoted = plain(shlex.quote(word), _LONGEST)
        if pieces and pieces[-1].startswith("--") and " " not in pieces[-1] and word[:1] != "-":
            pieces[-1] += f" {quoted}"
        else:
            pieces.append(quoted)
    return pieces
