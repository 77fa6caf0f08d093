"""A server that the lab did not start, and the command by which it is configured for a cell."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tlslab.model.errors import CannotRunError, UsageError
from tlslab.model.hook_times import TIMEOUT_S
from tlslab.model.names import find_group, find_suite
from tlslab.targets.base import pinned

# The most characters of a command's own message in a reason.
WORDS = 400

# How long a killed process may take to end, in seconds; one that stays belongs to another user.
_KILLED_S = 2.0

# Runs a command once a word comes on standard input; if the lab dies first, never.
_AT_A_WORD = ("sh", "-c", 'read -r begin && exec "$@" </dev/null', "sh")

_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")

# Beside each factor's level, the name that OpenSSL has for it.
OPENSSL = "_openssl"


class HookError(CannotRunError):
    """The command failed; the message has its own words."""


@dataclass(frozen=True)
class Hook:
    """A command with fields, `ssh host set-group {group}`, split into words as a shell would.

    No shell runs it, unless the command itself is one (`sh -c '...'`). A field is replaced by the
    level that the cell has of that factor, `{group_openssl}` and `{suite_openssl}` by OpenSSL's
    name of it; `{{` and `}}` stand for brackets. A level never becomes more than one word: within
    a word that has blanks, which must be a command line for another shell, it is quoted for it.
    The command also gets every factor as an environment variable, `TLSLAB_GROUP`.
    """

    words: tuple[str, ...]
    timeout_s: float = TIMEOUT_S

    @property
    def fields(self) -> frozenset[str]:
        """The factors that the command is given, whatever the form of their names."""
        names = (found[1] for word in self.words for found in _FIELD.finditer(word))
        return frozenset(name.removesuffix(OPENSSL) for name in names if name is not None)

    def command(self, factors: Mapping[str, str]) -> list[str]:
        """The command for a cell with these levels."""
        names = named(factors)
        return [_filled(word, names) for word in self.words]

    def run(self, factors: Mapping[str, str]) -> None:
        """Runs the command for a cell, to its end. Raises HookError.

        What it leaves in the background may go on; when it takes too long, or the lab is
        interrupted, all of its session is killed.
        """
        command = self.command(factors)
        variables = {f"TLSLAB_{name.upper()}": level for name, level in named(factors).items()}
        run_command(command, self.timeout_s, "--configure", variables)


def run_command(
    command: Sequence[str],
    timeout_s: float,
    option: str,
    variables: Mapping[str, str],
    session: Callable[[int], None] | None = None,
) -> None:
    """Runs a command of the user's to its end, with variables in its environment.

    `session` is called with the id of the command's session before the command begins; the caller
    then ends what is left of the session, here and after the lab's death. Raises HookError, with
    the option that gave the command and the command's own message.
    """
    started = pinned(command, (), "KILL") if session is None else [*_AT_A_WORD, *command]
    with tempfile.TemporaryFile() as said:
        try:
            child = subprocess.Popen(
                started,
                stdin=subprocess.DEVNULL if session is None else subprocess.PIPE,
                bufsize=0,
                # Not a pipe: a server that the command starts would keep it open.
                stdout=said,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables},
                start_new_session=True,
            )
        except OSError as error:
            raise HookError(f"{option}: {command[0]}: {error.strerror}") from None
        try:
            if session is not None:
                _begin(child, session)
            code = child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            reason = f"took longer than {timeout_s:g} s"
            if session is None and not _killed(child):
                reason += " and may not be killed (another user's process)"
        else:
            if code == 0:
                return
            reason = f"ended with {code}" if code > 0 else f"was ended by signal {-code}"
        finally:
            if session is None:
                _killed(child)
            elif child.stdin is not None:
                # An interruption before the word: the command never begins.
                child.stdin.close()
        said.seek(0)
        words = " ".join(said.read(1 << 16).decode("utf-8", "replace").split())[-WORDS:]
    shown = shlex.join(command)
    raise HookError(f"{option}: {shown} {reason}: {words or 'it said nothing'}")


def _begin(child: "subprocess.Popen[bytes]", session: Callable[[int], None]) -> None:
    """Reports the session, and then gives the word that the command waits for."""
    assert child.stdin is not None
    session(child.pid)
    with contextlib.suppress(BrokenPipeError), child.stdin:
        child.stdin.write(b"begin\n")


def _killed(child: "subprocess.Popen[bytes]") -> bool:
    """Kills what is left of the command; False where it belongs to another user, as by `sudo`."""
    if child.poll() is not None:
        return True
    with contextlib.suppress(PermissionError, ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    try:
        child.wait(_KILLED_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def command_words(text: str, option: str) -> tuple[str, ...]:
    """The words of a command that a user has written, split as a shell does. Raises UsageError."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{option}: {error}: {text}", "quote it as in a shell") from None
    if not words:
        raise UsageError(f"{option}: the command is empty", "give the command, in quotes")
    return words


def parse_hook(text: str, factors: Iterable[str], timeout_s: float = TIMEOUT_S) -> Hook:
    """The command that a user has written, for an experiment with these factors.

    Raises UsageError for what cannot be split into words, and for fields that are no factors.
    """
    words = command_words(text, "--configure")
    hook = Hook(words, timeout_s)
    known = tuple(factors)
    if unknown := sorted(hook.fields - set(known)):
        raise UsageError(
            f"--configure: the experiment has no factor '{unknown[0]}'",
            f"its factors: {', '.join(known)}; write {{{{ and }}}} for brackets of your own",
        )
    return hook


def named(factors: Mapping[str, str]) -> dict[str, str]:
    """The levels by the names of their fields, with OpenSSL's names of group and suite."""
    names = dict(factors)
    group = find_group(factors.get("group", ""))
    suite = find_suite(factors.get("suite", ""))
    if "group" in factors:
        names["group" + OPENSSL] = group.openssl if group else factors["group"]
    if "suite" in factors:
        names["suite" + OPENSSL] = suite.openssl if suite else factors["suite"]
    return names


def _filled(word: str, names: Mapping[str, str]) -> str:
    """A word with its fields replaced; a level is quoted where the word is a command line."""
    is_line = re.search(r"\s", word) is not None

    def level(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0][0]
        value = names.get(found[1], "")
        return shlex.quote(value) if is_line else value

    return _FIELD.sub(level, word)
