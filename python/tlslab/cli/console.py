"""The two streams to which commands print."""

import codecs
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.text import Text

from tlslab.domain.plain import plain

if TYPE_CHECKING:
    from tlslab.domain.finding import Summary

# The width of output to a file or a pipe, in characters.
WIDTH = 130

# The smallest width that is taken from COLUMNS; in 0 characters there is no output at all.
LEAST_WIDTH = 20


def _is_width(text: str) -> bool:
    return text.isdecimal() and len(text) < 9 and int(text) >= LEAST_WIDTH


if not _is_width(os.environ.get("COLUMNS", "")):
    # Not only these two consoles ask for it: the parser's help has one of its own.
    os.environ.pop("COLUMNS", None)

out = Console(
    highlight=False,
    width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH,
)
err = Console(stderr=True, highlight=False)

# The longest displayed message, in characters; parts of it come from servers or files.
MESSAGE_LIMIT = 2000

# Replacements for characters that the encoding of a terminal or a pipe lacks.
_SPELT = {
    "≥": ">=", "≤": "<=", "×": "x", "µ": "u", "–": "-", "—": "-", "…": "...", "±": "+/-",
    "→": "->", "·": ".", "•": "*", "━": "-", "╸": "-", "╺": "-", "─": "-", "│": "|",
    "╭": "+", "╮": "+", "╰": "+", "╯": "+",
}  # fmt: skip


def any_encoding() -> None:
    """Makes both streams replace characters that their encoding lacks, instead of failing."""
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
    """Writes a page in UTF-8, as the page declares, whatever the encoding of standard output is."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(text)
    else:
        buffer.write(text.encode("utf-8"))
        buffer.flush()


def show(report: RenderableType) -> None:
    """Prints a report; lines that must stay whole may be longer than the console is wide."""
    out.print(report, crop=False)


def show_report(
    summary: "Summary", details: bool, place: Sequence[str], lines: int | None = None
) -> None:
    """Prints the report of a run: all of it, or one screen of `lines` lines.

    `place`: the run folder, or the two of a comparison.
    """
    from tlslab import report
    from tlslab.report.brief import LINES

    if details:
        show(report.render_text(summary))
    else:
        show(report.render_short(summary, place, LINES if lines is None else lines))


def show_error(message: str, remedy: str) -> None:
    """Prints one line with the error and one with the remedy."""
    err.print(Text.assemble(("error: ", "bold red"), plain(message, MESSAGE_LIMIT)), soft_wrap=True)
    if remedy:
        err.print(Text.assemble(("  help: ", "bold"), plain(remedy, MESSAGE_LIMIT)), soft_wrap=True)


def say(line: str) -> None:
    """Prints a line on standard error, without markup."""
    err.print(Text(plain(line, MESSAGE_LIMIT)), soft_wrap=True)


def conclude(reason: str, code: int) -> int:
    """Prints the last line of a command, the reason of its exit code; returns the code."""
    # If standard output is refused, that is the reason.
    sys.stdout.flush()
    say(f"{reason}: exit {code}")
    return code
