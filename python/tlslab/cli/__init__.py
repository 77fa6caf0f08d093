"""The command line: one file per command, and what they share."""

import signal
import sys
from types import FrameType

from tlslab.cli.app import app
from tlslab.cli.console import show_error
from tlslab.model.errors import TlslabError

__all__ = ["main"]


def main() -> None:
    """Runs a command and ends the process with its exit code.

    0 done and valid, 1 done but a verdict failed, 2 wrong usage, 3 could not run, 130 interrupted.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except TlslabError as error:
        show_error(error.message, error.remedy)
        sys.exit(error.exit_code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """A polite request to end is an interruption like Ctrl-C: results are kept."""
    raise KeyboardInterrupt
