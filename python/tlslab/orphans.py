"""The end of a child process when this process dies, however it dies.

A killed process can end no other, and the kernel's own help has a gap. A child requests a signal on
the death of its parent (PR_SET_PDEATHSIG) only after its start, and a parent that is already dead
sends none. The shell of `bound` closes this gap.

Separate from `targets`, because a node of a cluster that has only Python starts engines, too.
"""

import os

# Continues only while its parent is the process with the given id.
_ORPHANS_END = '[ "$PPID" = "$0" ] && exec "$@"'


def bound(signal_name: str) -> list[str]:
    """The prefix of a command that gets this signal when this process dies."""
    death = ["setpriv", "--pdeathsig", signal_name, "--"]
    return [*death, "sh", "-c", _ORPHANS_END, str(os.getpid())]
