"""Command lines, taken apart and put together again."""

from collections.abc import Sequence

# Options of a run that belong to that one run: a folder is not overwritten, nor resumed twice, and
# another run need not be watched.
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
