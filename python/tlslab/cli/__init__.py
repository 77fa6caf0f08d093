"""The command line: one file per command, and shared modules."""

import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

import typer

from tlslab.cli.app import app
from tlslab.cli.completion import prepare_completion
from tlslab.cli.console import any_encoding, conclude, show_error
from tlslab.cli.ending import EXIT_INTERRUPTED
from tlslab.cli.refusals import RefusedError, forget, raise_refusals
from tlslab.cli.remedies import fitting, of_another
from tlslab.cli.watching import spelled_out
from tlslab.domain.command_line import did_you_mean
from tlslab.domain.errors import TlslabError

__all__ = ["main"]

# The base class of the parser's errors, reached through the only one that typer exports.
_ParserError: Any = typer.BadParameter.__mro__[2]

_WHY = {2: "wrong usage", 3: "it could not be done", 4: "cannot tell"}

# The command whose option a name is, if several commands have it.
_FIRST = "run"


def main() -> None:
    """Runs a command and ends the process with its exit code.

    0 done and valid, 1 done but a verdict failed, 2 wrong usage, 3 could not run, 4 cannot tell,
    130 interrupted.
    """
    try:
        _take_signals()
        raise_refusals()
        any_encoding()
        prepare_completion()
        # The command that a run keeps must have the same meaning when it is read again.
        sys.argv[1:] = spelled_out(sys.argv[1:])
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Runs a command; returns its exit code. The last line of the output explains the exit code."""
    try:
        code = _ended(arguments)
        # What standard output refuses must not first be found when the process ends.
        sys.stdout.flush()
    except RefusedError as error:
        with suppress(RefusedError):
            words = f"{error.filename} cannot be written: {error.strerror}"
            show_error(words, "write to a place that has room")
            conclude(_WHY[3], 3)
        return 3
    except BrokenPipeError:
        # Nobody reads the output any more, as after `| head`. This is not 1: a gate's verdict.
        forget(sys.stdout.fileno())
        return 3
    return code


def _ended(arguments: Sequence[str]) -> int:
    """Runs a command and reports its errors; returns its exit code."""
    try:
        code = app(args=list(arguments), prog_name="tlslab", standalone_mode=False)
    except TlslabError as error:
        name, options = _command(arguments)
        show_error(error.message, fitting(error.remedy, name, options, _options_of_commands()))
        return conclude(_WHY[error.exit_code], error.exit_code)
    except _ParserError as error:
        return _wrong_usage(error)
    except OSError as error:
        if not str(error.filename).startswith("/proc/"):
            raise
        words = f"{error.filename} cannot be read: {error.strerror}"
        show_error(words, "mount it: `mount -t proc proc /proc`")
        return conclude(_WHY[3], 3)
    except (KeyboardInterrupt, typer.Abort):
        return conclude("interrupted", EXIT_INTERRUPTED)
    except SystemExit as end:
        if end.code == 1:
            # So the parser and the console end if a pipe is closed.
            raise BrokenPipeError from None
        raise
    return code if isinstance(code, int) else 0


def _command(arguments: Sequence[str]) -> tuple[str, set[str]]:
    """The command that these arguments name, and its options; both empty without a command."""
    commands: Any = getattr(typer.main.get_command(app), "commands", {})
    name = next(iter(arguments), "")
    if name not in commands:
        return "", set()
    return name, {option for param in commands[name].params for option in param.opts}


def _options_of_commands() -> dict[str, str]:
    """Each option of a command, with the command that has it; `run` goes before others."""
    commands: Any = getattr(typer.main.get_command(app), "commands", {})
    ordered = sorted(commands, key=lambda name: name != _FIRST)
    found: dict[str, str] = {}
    for name in ordered:
        for param in commands[name].params:
            for option in param.opts:
                found.setdefault(option, name)
    return found


def _wrong_usage(error: Any) -> int:
    """Shows an error of the parser in tlslab's form, with a suggestion; returns the exit code."""
    words = error.format_message().split(" (Possible options")[0].split(" Did you mean")[0]
    words = words.rstrip(".")
    path = error.ctx.command_path if error.ctx is not None else "tlslab"
    meant = _meant(error)
    more = f"`{path} -h` shows what there is"
    show_error(words[:1].lower() + words[1:], f"{meant} {more}" if meant else more)
    return conclude(_WHY[2], 2)


def _meant(error: Any) -> str:
    """A known option or command similar to the typed one."""
    command: Any = getattr(error.ctx, "command", None)
    typed = getattr(error, "option_name", None)
    if typed is not None and command is not None:
        if (other := _options_of_commands().get(typed)) is not None:
            return f"{of_another([typed], other)};"
        known = [name for param in command.get_params(error.ctx) for name in param.opts]
        return did_you_mean(typed, [name for name in known if name.startswith("--")])
    commands = getattr(command, "commands", None)
    rest = [*getattr(error.ctx, "_protected_args", ()), *getattr(error.ctx, "args", ())]
    if commands and (typed := rest[0] if rest else _quoted(error.message)):
        return did_you_mean(typed, commands)
    return ""


def _quoted(text: str) -> str:
    """The first name in quotes."""
    parts = text.split("'")
    return parts[1] if len(parts) > 2 else ""


def _take_signals() -> None:
    """Handles interruptions from here on: they raise KeyboardInterrupt, unless they are ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Handles SIGTERM as an interruption like Ctrl-C: results are kept."""
    raise KeyboardInterrupt
