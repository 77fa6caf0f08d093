"""Command lines, taken apart and put together again."""

from collections.abc import Sequence


def without_options(command: Sequence[str], names: Sequence[str]) -> list[str]:
    """A command line without these options and their values."""
    kept: list[str] = []
    skip = False
    for word in command:
        if skip:
            skip = False
        elif word in names:
            skip = True
        elif not word.startswith(tuple(f"{name}=" for name in names)):
            kept.append(word)
    return kept
