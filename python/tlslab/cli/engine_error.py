"""The engine's last word when it cannot do what was asked for, in the lab's form."""

PREFIX = "tlslab-load: "


def engine_error(line: str) -> tuple[str, str]:
    """Message and remedy of the engine's line, which ends with the remedy."""
    words = line.strip().removeprefix(PREFIX) or "the engine said nothing"
    message, _, remedy = words.rpartition("; ") if "; " in words else (words, "", "")
    return message, remedy
