"""What ends a child process when this one dies, however it dies.

A killed process can end nobody, and the kernel's own help has a gap. A child asks for a signal on
the death of its parent (PR_SET_PDEATHSIG) only after it was started, and a parent that is dead by
then brings none: the shell of `bound` closes that gap.

Apart from `targets`, since a node of a cluster that has nothing but Python starts engines, too.
"""

import os

# Goes on only while its parent is the process whose id it is given.
_ORPHANS_END = '[ "$PPID" = "$0" ] && exec "$@"'


def bound(signal_name: str) -> list[str]:
    """What stands before a command that gets this signal when this process dies."""
    death = ["setpriv", "--pdeathsig", signal_name, "--"]
    return [*death, "sh", "-c", _ORPHANS_END, str(os.getpid())]
