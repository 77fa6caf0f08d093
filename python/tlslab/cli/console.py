"""The two streams that commands print to."""

import os
import sys

from rich.console import Console
from rich.text import Text

from tlslab.report import plain

# What goes to a file or a pipe is as wide as its tables like it.
WIDTH = 130

out = Console(
    highlight=False,
    width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH,
)
err = Console(stderr=True, highlight=False)

# The longest message that is shown: a line of our own words around what a server or a file said.
MESSAGE_LIMIT = 2000


def show_error(message: str, remedy: str) -> None:
    """One line for what went wrong, one for what to do about it."""
    err.print(Text.assemble(("error: ", "bold red"), plain(message, MESSAGE_LIMIT)), soft_wrap=True)
    if remedy:
        err.print(Text.assemble(("  help: ", "bold"), plain(remedy, MESSAGE_LIMIT)), soft_wrap=True)
