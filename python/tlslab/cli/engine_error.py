"""The engine's error message in the lab's form."""

import re

PREFIX = "tlslab-load: "

# The end of the engine's last line; the lab prints a line of its own for the exit code.
_EXIT = re.compile(r": exit \d+$")


def engine_error(line: str) -> tuple[str, str]:
    """Message and remedy from the engine's line, which ends with the remedy and the exit code."""
    words = _EXIT.sub("", line.strip()).removeprefix(PREFIX) or "the engine said nothing"
    message, _, remedy = words.rpartition("; ") if "; " in words else (words, "", "")
    return message, remedy


def is_conclusion(line: str) -> bool:
    """Whether the engine gives the reason of its exit code in this line, without an error."""
    return bool(_EXIT.search(line.strip())) and not line.startswith(PREFIX)
