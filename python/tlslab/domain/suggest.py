"""Suggestions for a name that does not exist."""

import difflib
from collections.abc import Iterable

# With a smaller share of common characters the name is another word, not a typing error.
_ALIKE = 0.6


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, whatever the case; None when none is like it."""
    by_lower = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=_ALIKE)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'nginx'?`; empty when no known name is like this one."""
    found = nearest(name, known)
    return f"did you mean '{found}'?" if found else ""
