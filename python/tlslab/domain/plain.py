"""Text from outside, sanitised for terminals and readers."""

import unicodedata

# Control and format characters (ANSI escapes, bidirectional overrides, zero-width characters),
# halves of surrogate pairs, line and paragraph separators.
_UNWANTED = ("Cc", "Cf", "Cs", "Zl", "Zp")

# The longest text of a server that a report quotes; an alert or a header is far shorter.
LIMIT = 300


def plain(text: str, limit: int = LIMIT) -> str:
    """The text with unwanted characters as spaces, cut off at `limit` characters."""
    # No unwanted character is printable.
    if len(text) <= limit and text.isprintable():
        return text
    clean = "".join(" " if unicodedata.category(c) in _UNWANTED else c for c in text[: limit + 1])
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
