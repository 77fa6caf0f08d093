"""The two streams that commands print to."""

import codecs
import io
import os
import sys

from rich.console import Console, RenderableType
from rich.text import Text

from tlslab.model.plain import plain

# What goes to a file or a pipe is as wide as its tables like it.
WIDTH = 130

out = Console(
    highlight=False,
    width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH,
)
err = Console(stderr=True, highlight=False)

# The longest message that is shown: a line of our own words around what a server or a file said.
MESSAGE_LIMIT = 2000

# What is written where a terminal's or a pipe's encoding lacks a character.
_SPELT = {
    "≥": ">=", "≤": "<=", "×": "x", "µ": "u", "–": "-", "—": "-", "…": "...", "±": "+/-",
    "→": "->", "·": ".", "•": "*", "━": "-", "╸": "-", "╺": "-", "─": "-", "│": "|",
    "╭": "+", "╮": "+", "╰": "+", "╯": "+",
}  # fmt: skip


def any_encoding() -> None:
    """Has both streams spell out what their encoding lacks, instead of failing on it."""
    codecs.register_error("tlslab", _spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="tlslab")


def _spell(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_SPELT.get(character, "?") for character in lacking), error.end


def write_utf8(text: str) -> None:
    """A page, which says of itself that it is UTF-8, whatever the stream's own encoding."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(text)
    else:
        buffer.write(text.encode("utf-8"))
        buffer.flush()


def show(report: RenderableType) -> None:
    """A report on standard output; a line that must stay whole may be longer than the console."""
    out.print(report, crop=False)


def show_error(message: str, remedy: str) -> None:
    """One line for what went wrong, one for what to do about it."""
    err.print(Text.assemble(("error: ", "bold red"), plain(message, MESSAGE_LIMIT)), soft_wrap=True)
    if remedy:
        err.print(Text.assemble(("  help: ", "bold"), plain(remedy, MESSAGE_LIMIT)), soft_wrap=True)


def say(line: str) -> None:
    """A line for people, as it is, on standard error."""
    err.print(Text(plain(line, MESSAGE_LIMIT)), soft_wrap=True)


def conclude(reason: str, code: int) -> int:
    """The last line of a command: why its exit code is what it is; the code."""
    say(f"{reason}: exit {code}")
    return code
