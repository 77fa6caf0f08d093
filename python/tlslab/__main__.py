"""The start of the command line: `tlslab`, and `python -m tlslab`.

The imports of the commands take part of a second. What may happen before their end is seen to here,
so this module imports little.
"""

import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 130


def main() -> None:
    """Runs the command of the process's arguments; ends the process with its exit code."""
    # Ignored interruptions stay ignored: a shell starts jobs in the background with them.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # Its file descriptor was closed, as by `>&-`.
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    from tlslab.cli import main as command

    command()


def _interrupted(number: int, frame: FrameType | None) -> None:
    """Ends the process at once: nothing has been started yet."""
    os.write(2, f"interrupted: exit {_INTERRUPTED}\n".encode())
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
