"""The two streams that commands print to."""

import unicodedata

from rich.console import Console
from rich.text import Text

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def clean(text: str) -> str:
    """The text without what could steer a terminal: control and format characters become spaces.

    Servers supply some of what is printed here (alerts, headers, certificate names).
    """
    return "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else c for c in text)


def show_error(message: str, remedy: str) -> None:
    """One line for what went wrong, one for what to do about it."""
    err.print(Text.assemble(("error: ", "bold red"), clean(message)), soft_wrap=True)
    if remedy:
        err.print(Text.assemble(("  help: ", "bold"), clean(remedy)), soft_wrap=True)
