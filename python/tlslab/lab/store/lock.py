"""The lock by which only one process at a time continues a run.

Two processes would run the same trials, and each would cut off the other's line while it is being
written. The kernel holds the lock and releases it when its owner dies, so that no lock is left
behind. Reading a run folder needs no lock.
"""

import fcntl
import os
import weakref
from pathlib import Path

from tlslab.domain.errors import StoreError

NAME = ".lock"

# The largest part of the file that is read: a process id.
_ID = 32


class Lock:
    """A lock held from its creation until it is closed, or until its process ends."""

    def __init__(self, folder: Path) -> None:
        """Raises StoreError if another process holds it, OSError if there can be no lock."""
        handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            owner = _owner(handle)
            os.close(handle)
            raise StoreError(
                f"{folder}: another tlslab{owner} is at work on this run",
                "wait until it has ended, or end it",
            ) from None
        except OSError:
            os.close(handle)
            raise
        weakref.finalize(self, os.close, handle)


def _owner(handle: int) -> str:
    """The process that holds the lock, as recorded by itself; the file may contain anything."""
    text = os.pread(handle, _ID, 0).strip()
    return f" (process {int(text)})" if text.isdigit() else ""
