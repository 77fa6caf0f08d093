"""Nothing outlives the lab: what a shell does when the lab is killed.

The kernel ends a server with the lab (`bound`), but a server may be deaf to its SIGTERM: nginx
takes one that comes before its first worker for granted and then waits for the next, and workers
that lose a killed master live on. So a shell of its own watches over each server's session
(`Guard`).
"""

import contextlib
import subprocess

from tlslab.orphans import bound

__all__ = ["Guard", "bound"]

# The session's id comes on standard input, and a word when the server was ended in order. An end of
# the input without that word is the end of the lab.
_WATCH = 'read -r session || exit; read -r dismissed || kill -s KILL -- "-$session"'


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
