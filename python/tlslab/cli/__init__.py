"""The command line: one file per command, and what they share."""

import signal
import sys
from types import FrameType

import click

from tlslab.cli.app import app
from tlslab.cli.console import show_error
from tlslab.model.errors import TlslabError, UsageError

EXIT_INTERRUPTED = 130

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Runs a command and ends the process with its exit code.

    0 done and valid, 1 done but a verdict failed, 2 wrong usage, 3 could not run, 130 interrupted.
    """
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Runs a command; returns its exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = app(arguments, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return UsageError.exit_code
    except TlslabError as error:
        show_error(error.message, error.remedy)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        show_error("interrupted", "")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does; nothing is left to tell it.
        sys.stdout = None  # type: ignore[assignment]
        return 0
    return code if isinstance(code, int) else 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    """A polite request to end is an interruption like Ctrl-C: children are stopped, results kept."""
    raise KeyboardInterrupt
