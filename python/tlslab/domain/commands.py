"""Command lines, taken apart and put together again."""

from collections.abc import Sequence

# Options that belong to a single run: another run needs a folder of its own, resumes nothing, and
# need not be watched.
ONE_RUN = ("--out", "--resume", "--metrics", "--live")


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
