"""`tlslab` for the shell of a document: has `live.lab_server` start the command in its place.

Needs only the standard library. TLSLAB_TEST_SERVER is the server's socket.
"""

import json
import os
import signal
import socket
import sys

# sysexits.h: no exit code of the lab, and none that the test of a document accepts.
EX_SOFTWARE = 70


def main() -> int:
    """Runs the command with these arguments, streams, folder and environment; its exit code."""
    request = {
        "arguments": sys.argv[1:],
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(os.environ["TLSLAB_TEST_SERVER"])
        socket.send_fds(connection, [json.dumps(request).encode()], (0, 1, 2))
        pid = int(connection.recv(100))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        code = int(connection.recv(100))
    # A shell sees the signal that ended a command.
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError) as error:
        sys.stderr.write(f"the server of commands is gone: {error}\n")
        sys.exit(EX_SOFTWARE)
