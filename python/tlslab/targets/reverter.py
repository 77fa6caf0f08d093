"""A live server is given back as it was, whatever becomes of the lab.

A process of its own, in a session of its own, waits for the end of a pipe that only the lab holds.
It then runs the command that reverts: when the lab asks for it, and when the lab is gone, be it by
`kill -9`. It alone runs that command, so that no two of them ever meet.
"""

import os
import shlex
import subprocess
import tempfile
import time
from dataclasses import dataclass

from tlslab.model.errors import CannotRunError

# The tries of the command, and the seconds between two: a host that restarts something is away for
# a moment.
TRIES = 3
PAUSE_S = 2

# After its time a command is asked to end, and then killed.
_GRACE_S = 5

# The most of the command's own words that an error repeats.
WORDS = 400

# Standard input ends, with or without a word; $0 is the time of a try, $1 the lab's process id, $2
# the command in words for a person, the rest the command. A process whose parent has died gets
# another one: then nobody is left to say how it went but this process.
_REVERT = f"""
read -r word; seconds=$0 lab=$1 shown=$2; shift 2; tries=0
while :; do
    timeout -k {_GRACE_S} "$seconds" "$@" </dev/null 2>&1; code=$?
    tries=$((tries + 1))
    [ "$code" = 0 ] && break
    [ "$tries" -ge {TRIES} ] && break
    sleep {PAUSE_S}
done
if [ -z "$word" ] || [ "$(cut -d ' ' -f 4 /proc/$$/stat)" != "$lab" ]; then
    if [ "$code" = 0 ]; then echo "tlslab: killed; the server was reverted: $shown" >&2
    else echo "tlslab: killed, AND THE REVERT FAILED ($code). Run it yourself: $shown" >&2; fi
fi
exit "$code"
"""


class RevertError(CannotRunError):
    """The server could not be reverted: it still has the candidate."""


@dataclass(frozen=True)
class Command:
    """A command in words, run without a shell, and the seconds that a try may take."""

    words: tuple[str, ...]
    timeout_s: float

    @property
    def shown(self) -> str:
        """The command as it is typed."""
        return shlex.join(self.words)


class Reverter:
    """Waits from now on; `revert` has the command run, and so does the death of this process."""

    def __init__(self, command: Command) -> None:
        self._command = command
        # A file and no pipe: what the command leaves running would keep a pipe open.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 -- read when the command has ended
        arguments = f"{command.timeout_s:g}", str(os.getpid()), command.shown
        self._child = subprocess.Popen(
            ["sh", "-c", _REVERT, *arguments, *command.words],
            stdin=subprocess.PIPE,
            stdout=self._said,
            # Neither a Ctrl-C nor the end of the terminal reaches it.
            start_new_session=True,
            bufsize=0,
        )

    @property
    def pid(self) -> int:
        """The waiting process."""
        return self._child.pid

    def revert(self) -> None:
        """Has the server reverted, and waits for that even if it is interrupted.

        Raises RevertError; an interruption is raised when the server is reverted.
        """
        stdin = self._child.stdin
        assert stdin is not None
        if not stdin.closed:
            try:
                stdin.write(b"revert\n")
                stdin.close()
            except BrokenPipeError:
                pass  # It was ended by somebody: its code says so.
        code, interrupted = self._wait()
        if code != 0:
            self._said.seek(0)
            words = " ".join(self._said.read(1 << 16).decode("utf-8", "replace").split())
            self._said.close()
            raise RevertError(
                f"THE REVERT FAILED, the server still has the candidate: {self._command.shown} "
                f"ended with {code}: {words[-WORDS:] or 'it said nothing'}",
                f"run it yourself now: {self._command.shown}",
            )
        self._said.close()
        if interrupted:
            raise KeyboardInterrupt

    def _wait(self) -> tuple[int | None, bool]:
        """The code of the last try, None where it does not end; and whether it was interrupted."""
        most = TRIES * (self._command.timeout_s + _GRACE_S + PAUSE_S)
        deadline = time.monotonic() + most
        interrupted = False
        while time.monotonic() < deadline:
            try:
                return self._child.wait(max(0.0, deadline - time.monotonic())), interrupted
            except KeyboardInterrupt:
                # No Ctrl-C may leave the server as it is.
                interrupted = True
            except subprocess.TimeoutExpired:
                break
        return None, interrupted
