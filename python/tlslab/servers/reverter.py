"""Reverts a live server to its first state, whatever becomes of the lab.

A separate process, in a session of its own, waits for the end of a pipe that only the lab holds.
It then runs the reverting command: when the lab asks for it, and when the lab is gone, even by
`kill -9`. Only this process runs that command, so that two of them never overlap. It gets the
session of the command that changes the server before that command starts: while any process of that
session remains, the candidate could still take effect after the revert.
"""

import contextlib
import math
import os
import shlex
import subprocess
import tempfile
import time
from dataclasses import dataclass

from tlslab.domain.errors import CannotRunError

# The number of tries of the command, and the seconds between two: a host that restarts a service is
# unreachable for a moment.
TRIES = 3
PAUSE_S = 2

# After its time a command gets this long to end on request, and is then killed.
_GRACE_S = 5

# The largest number of characters of the command's own words in an error.
WORDS = 400

# Lines of standard input: `apply SESSION` and `applied` before and after the other command, and at
# last `revert`; if the input ends without it, the lab has died. $0 is the time of a try, $1 the
# lab's process id, $2 the time after which the other command is killed, $3 the command in words for
# people, the rest the command. A process whose parent has died gets another parent: then only this
# process is left to report the result. In /proc/PID/stat, after the name in brackets: state,
# parent, process group, session.
_REVERT = f"""
seconds=$0 lab=$1 wait=$2 shown=$3; shift 3
session= word=
while read -r verb value; do
    case $verb in
        apply) session=$value; killing=$(($(date +%s) + wait)) ;;
        applied) session= ;;
        *) word=$verb; break ;;
    esac
done
of_session() {{
    for stat in /proc/[0-9]*/stat; do
        {{ read -r line <"$stat"; }} 2>/dev/null || continue
        id=${{stat#/proc/}}; rest=${{line##*) }}
        case $rest in Z*|X*) continue ;; esac
        rest=${{rest#* * * }}
        [ "${{rest%% *}}" = "$session" ] && echo "${{id%/stat}}"
    done
}}
ended_by() {{
    while left=$(of_session); [ -n "$left" ]; do
        [ "$(date +%s)" -gt "$1" ] && return 1
        sleep 0.2
    done
}}
if [ -n "$session" ] && ! ended_by "$killing"; then
    for id in $left; do kill -s KILL "$id" 2>/dev/null; done
    ended_by "$((killing + {_GRACE_S}))" ||
        printf '%s\n' "tlslab: --apply goes on and may not be killed (another user's process?)." \
            "tlslab: The server is reverted now; CHECK IT when these have ended:" $left |
        paste -s -d ' ' >&2
fi
tries=0
while :; do
    timeout -k {_GRACE_S} "$seconds" "$@" </dev/null 2>&1; code=$?
    tries=$((tries + 1))
    [ "$code" = 0 ] && break
    [ "$tries" -ge {TRIES} ] && break
    sleep {PAUSE_S}
done
if [ -z "$word" ] || [ "$(cut -d ' ' -f 4 /proc/$$/stat)" != "$lab" ]; then
    if [ "$code" = 0 ]; then
        printf '%s\n' "tlslab: killed; the server was reverted: $shown" >&2
    else
        printf '%s\n' \
            "tlslab: killed, AND THE REVERT FAILED ($code). Run it yourself: $shown" >&2
    fi
fi
exit "$code"
"""


class RevertError(CannotRunError):
    """The server could not be reverted: it still has the candidate."""


@dataclass(frozen=True)
class Command:
    """A command in words, run without a shell, and the time limit of a try in seconds."""

    words: tuple[str, ...]
    timeout_s: float

    @property
    def shown(self) -> str:
        """The command as it is typed."""
        return shlex.join(self.words)


class Reverter:
    """Waits from now on; `revert` runs the command, and so does the death of this process.

    The session given to `applying` is waited for first. It is killed `apply_s` seconds later, after
    a grace period.
    """

    def __init__(self, command: Command, apply_s: float = 0.0) -> None:
        self._command = command
        self._apply_s = math.ceil(apply_s) + _GRACE_S
        # A file, not a pipe: processes that the command leaves running would keep a pipe open.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 -- read when the command has ended
        arguments = (
            f"{command.timeout_s:g}", str(os.getpid()), str(self._apply_s), command.shown
        )  # fmt: skip
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
        """The id of the waiting process."""
        return self._child.pid

    def applying(self, session: int) -> None:
        """Reports that a command in this session starts to change the server.

        There is no revert until that command has ended.
        """
        self._say(f"apply {session}\n")

    def applied(self) -> None:
        """Reports its orderly end: processes that it leaves in the background may continue."""
        self._say("applied\n")

    def _say(self, line: str) -> None:
        stdin = self._child.stdin
        assert stdin is not None
        if not stdin.closed:
            # Broken if somebody has ended the process: its exit code then says so.
            with contextlib.suppress(BrokenPipeError):
                stdin.write(line.encode())

    def revert(self) -> None:
        """Reverts the server, and waits for the end even if interrupted.

        Raises RevertError; an interruption is raised once the server is reverted.
        """
        self._say("revert\n")
        assert self._child.stdin is not None
        self._child.stdin.close()
        code, interrupted = self._wait()
        if code != 0:
            self._said.seek(0)
            words = " ".join(self._said.read(1 << 16).decode("utf-8", "replace").split())
            self._said.close()
            how = "does not end" if code is None else f"ended with {code}"
            raise RevertError(
                f"THE REVERT FAILED, the server still has the candidate: {self._command.shown} "
                f"{how}: {words[-WORDS:] or 'it said nothing'}",
                f"run it yourself now: {self._command.shown}",
            )
        self._said.close()
        if interrupted:
            raise KeyboardInterrupt

    def _wait(self) -> tuple[int | None, bool]:
        """The exit code of the last try, and whether it was interrupted.

        The code is None if the try does not end.
        """
        most = TRIES * (self._command.timeout_s + _GRACE_S + PAUSE_S)
        most += self._apply_s + _GRACE_S + PAUSE_S
        deadline = time.monotonic() + most
        interrupted = False
        while time.monotonic() < deadline:
            try:
                return self._child.wait(max(0.0, deadline - time.monotonic())), interrupted
            except KeyboardInterrupt:
                # No Ctrl-C may leave the server unreverted.
                interrupted = True
            except subprocess.TimeoutExpired:
                break
        return None, interrupted
