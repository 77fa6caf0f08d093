"""The date and the code that produced a result."""

import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent

# The number of digits of a commit that are kept.
_DIGITS = 10


@dataclass(frozen=True)
class Made:
    """`commit` is empty if it was not kept, and ends with `+` if its files had been changed."""

    created: str
    commit: str
    command: str

    def words(self) -> str:
        """A phrase without a full stop: `2026-11-26, commit 0123456789: `make bench``."""
        commit = f", commit {self.commit}" if self.commit else ""
        return f"{self.created[:10]}{commit}: `{self.command}`"


def made(command: str) -> Made:
    """The provenance of a result made now."""
    return Made(datetime.now(UTC).isoformat(timespec="seconds"), commit(), command)


def commit() -> str:
    """The checked-out commit, with `+` if tracked files differ; empty without git."""
    words = ["describe", "--always", "--exclude=*", f"--abbrev={_DIGITS}", "--dirty=+"]
    try:
        ended = subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return ended.stdout.strip()
