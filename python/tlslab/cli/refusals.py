"""Standard streams that cannot be written: a full disk behind `>`, for instance.

The error of a stream has no name of a file, so that it gets a class of its own here, where it
occurs. Pipes that nobody reads any more are left alone: typer and rich end the command quietly.
"""

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_NAMES = {"stdout": "standard output", "stderr": "standard error"}


class RefusedError(OSError):
    """A standard stream did not take what was written to it; `filename` is the stream."""


class _Stream(io.FileIO):
    def __init__(self, number: int, name: str) -> None:
        super().__init__(number, "wb", closefd=False)
        self._called = name

    def write(self, data: "ReadableBuffer", /) -> int:
        """Writes to the stream. Raises RefusedError, BrokenPipeError."""
        try:
            # To write nothing is the parser's way to see what a stream takes.
            return super().write(data) if memoryview(data).nbytes else 0
        except BrokenPipeError:
            raise
        except OSError as error:
            # What is still held back would be refused once more at the end of the process.
            forget(self.fileno())
            raise RefusedError(error.errno, error.strerror, self._called) from None


def raise_refusals() -> None:
    """Makes both streams of this process raise RefusedError for what they do not take."""
    for name, called in _NAMES.items():
        old = getattr(sys, name)
        if old is not getattr(sys, f"__{name}__") or old.isatty():
            continue  # Not the process's own stream, or one that takes everything.
        old.flush()
        raw = _Stream(old.fileno(), called)
        new = io.TextIOWrapper(
            raw if old.write_through else io.BufferedWriter(raw),
            encoding=old.encoding,
            errors=old.errors,
            line_buffering=old.line_buffering,
            write_through=old.write_through,
        )
        setattr(sys, name, new)


def forget(number: int) -> None:
    """Leads a file descriptor nowhere from now on."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, number)
    os.close(nowhere)
