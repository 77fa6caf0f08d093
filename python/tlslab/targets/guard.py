"""Nothing outlives the lab: what the kernel and a shell do when the lab is killed.

A killed lab can end nobody, and the kernel's own help has two gaps. A child asks for a signal on
the death of its parent (PR_SET_PDEATHSIG) only after it was started, and a lab that is dead by then
brings none: `bound` closes that gap. And a server may be deaf to its SIGTERM: nginx takes one that
comes before its first worker for granted and then waits for the next, and workers that lose a
killed master live on. So a shell of its own watches over each server's session (`Guard`).
"""

import contextlib
import os
import subprocess

# Goes on only while its parent is the lab, whose id it is given.
_ORPHANS_END = '[ "$PPID" = "$0" ] && exec "$@"'

# The session's id comes on standard input, and a word when the server was ended in order. An end of
# the input without that word is the end of the lab.
_WATCH = 'read -r session || exit; read -r dismissed || kill -s KILL -- "-$session"'


def bound(signal_name: str) -> list[str]:
    """What stands before a command that gets this signal when the lab dies, however it dies."""
    death = ["setpriv", "--pdeathsig", signal_name, "--"]
    return [*death, "sh", "-c", _ORPHANS_END, str(os.getpid())]


class Guard:
    """Kills all processes of a session when the lab dies without having dismissed the guard."""

    def __init__(self, session: int) -> None:
        self._shell = subprocess.Popen(
            ["sh", "-c", _WATCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        self._say(f"{session}\n")

    def dismiss(self) -> None:
        """The session has ended in order."""
        self._say("dismissed\n")
        if self._shell.stdin is not None:
            self._shell.stdin.close()
        self._shell.wait()

    def _say(self, words: str) -> None:
        stdin = self._shell.stdin
        if stdin is not None and not stdin.closed:
            # Broken when somebody has ended the shell.
            with contextlib.suppress(BrokenPipeError):
                stdin.write(words.encode())
