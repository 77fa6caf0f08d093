"""A server that the lab did not start, and the command that configures it for a cell."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tlslab.domain.command_line import TIMEOUT_S
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.names import find_group, find_suite
from tlslab.servers.base import pinned

# The largest number of characters of a command's own message in a reason.
WORDS = 400

# The time in which a killed process must end, in seconds; one that stays belongs to another user.
_KILLED_S = 2.0

# Runs a command once a word arrives on standard input; never, if the lab dies first.
_AT_A_WORD = ("sh", "-c", 'read -r begin && exec "$@" </dev/null', "sh")

_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")

# The suffix of the field with OpenSSL's name of a factor's level.
OPENSSL = "_openssl"


class HookError(CannotRunError):
    """The command failed; the message contains its own words."""


@dataclass(frozen=True)
class Hook:
    """A command with fields, `ssh host set-group {group}`, split into words as by a shell.

    No shell runs the command, unless the command itself is one (`sh -c '...'`). A field is replaced
    by the cell's level of that factor, `{group_openssl}` and `{suite_openssl}` by OpenSSL's name of
    the level; `{{` and `}}` stand for brackets. A level never becomes more than one word: within a
    word that contains blanks, which must be a command line for another shell, the level is quoted
    for that shell. The command also gets every factor as an environment variable, `TLSLAB_GROUP`.
    """

    words: tuple[str, ...]
    timeout_s: float = TIMEOUT_S

    @property
    def fields(self) -> frozenset[str]:
        """The factors whose levels the command gets, under any form of their names."""
        names = (found[1] for word in self.words for found in _FIELD.finditer(word))
        return frozenset(name.removesuffix(OPENSSL) for name in names if name is not None)

    def command(self, factors: Mapping[str, str]) -> list[str]:
        """The command for a cell with these levels."""
        names = named(factors)
        return [_filled(word, names) for word in self.words]

    def run(self, factors: Mapping[str, str]) -> None:
        """Runs the command for a cell, to its end. Raises HookError.

        Processes that it leaves in the background may continue. If the command takes too long, or
        the lab is interrupted, its whole session is killed.
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
    """Runs a user's command to its end, with variables in its environment.

    `session` is called with the id of the command's session before the command starts; the caller
    then ends the remaining processes of the session, here and after the lab's death. Raises
    HookError, with the option that gave the command and the command's own message.
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
                # An interruption before the word: the command never starts.
                child.stdin.close()
        said.seek(0)
        words = " ".join(said.read(1 << 16).decode("utf-8", "replace").split())[-WORDS:]
    shown = shlex.join(command)
    raise HookError(f"{option}: {shown} {reason}: {words or 'it said nothing'}")


def _begin(child: "subprocess.Popen[bytes]", session: Callable[[int], None]) -> None:
    """Reports the session, then sends the word that the command waits for."""
    assert child.stdin is not None
    session(child.pid)
    with contextlib.suppress(BrokenPipeError), child.stdin:
        child.stdin.write(b"begin\n")


def _killed(child: "subprocess.Popen[bytes]") -> bool:
    """Kills the rest of the command; False if it belongs to another user, as with `sudo`."""
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
    """The words of a user's command, split as by a shell. Raises UsageError."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{option}: {error}: {text}", "quote it as in a shell") from None
    if not words:
        raise UsageError(f"{option}: the command is empty", "give the command, in quotes")
    return words


def parse_hook(text: str, factors: Iterable[str], timeout_s: float = TIMEOUT_S) -> Hook:
    """The user's command, for an experiment with these factors.

    Raises UsageError for a text that cannot be split into words, and for fields that are no
    factors.
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
    """The levels by the names of their fields, including OpenSSL's names of group and suite."""
    names = dict(factors)
    group = find_group(factors.get("group", ""))
    suite = find_suite(factors.get("suite", ""))
    if "group" in factors:
        names["group" + OPENSSL] = group.openssl if group else factors["group"]
    if "suite" in factors:
        names["suite" + OPENSSL] = suite.openssl if suite else factors["suite"]
    return names


def _filled(word: str, names: Mapping[str, str]) -> str:
    """A word with its fields replaced; a level is quoted if the word is a command line."""
    is_line = re.search(r"\s", word) is not None

    def level(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0][0]
        value = names.get(found[1], "")
        return shlex.quote(value) if is_line else value

    return _FIELD.sub(level, word)
