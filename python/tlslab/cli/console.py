"""The two streams that commands print to."""

from rich.console import Console
from rich.text import Text

from tlslab.report import plain

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

# The longest message that is shown: a line of our own words around what a server or a file said.
MESSAGE_LIMIT = 2000


def show_error(message: str, remedy: str) -> None:
    """One line for what went wrong, one for what to do about it."""
    err.print(Text.assemble(("error: ", "bold red"), plain(message, MESSAGE_LIMIT)), soft_wrap=True)
    if remedy:
        err.print(Text.assemble(("  help: ", "bold"), plain(remedy, MESSAGE_LIMIT)), soft_wrap=True)
