"""The guard: a shell that kills a server's processes when the lab is killed.

The kernel sends a server SIGTERM when the lab dies (`bound`), but that may not end the server:
nginx notes a SIGTERM that comes before its first worker and acts on it only at the next signal, and
its workers outlive a killed master. Therefore a separate shell watches each server's session
(`Guard`).
"""

import contextlib
import subprocess

from tlslab.orphans import bound

__all__ = ["Guard", "bound"]

# Standard input brings the session's id, and a word once the server was ended in order. If the
# input ends without that word, the lab has died.
_WATCH = 'read -r session || exit; read -r dismissed || kill -s KILL -- "-$session"'


class Guard:
    """Kills all processes of a session if the lab dies without having dismissed the guard."""

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
        """Reports that the session has ended in order."""
        self._say("dismissed\n")
        if self._shell.stdin is not None:
            self._shell.stdin.close()
        self._shell.wait()

    def _say(self, words: str) -> None:
        stdin = self._shell.stdin
        if stdin is not None and not stdin.closed:
            # The pipe is broken if the shell was ended from outside.
            with contextlib.suppress(BrokenPipeError):
                stdin.write(words.encode())
