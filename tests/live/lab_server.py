"""Starts commands of the lab by fork, from a process that has imported the lab's modules once.

`python -m live.lab_server FD` reads requests from the socket FD, until its other end is closed. A
request is one message: the arguments, the folder and the environment as JSON; with it come the
descriptors of the command's standard output and error, and of a pipe. This pipe gets the command's
process id, and its exit code when it has ended.

To import the modules takes more processor time than all else that the lab does in a short run.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
from typing import Any

import tlslab
import tlslab.cli

# What modules import when they are used first.
LATE = ("ruptures", "scipy.optimize", "scipy.stats")

# A message's greatest length, in bytes: arguments and environment.
LIMIT = 1 << 20


def import_lab() -> None:
    """Imports all modules of the lab but those for clusters, which configure Ray when imported."""
    for name in LATE:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(tlslab.__path__, "tlslab."):
        if not module.name.endswith("__main__") and ".cluster" not in module.name:
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


def serve(requests: socket.socket) -> bool:
    """Starts a process for each request; returns True in such a process."""
    # The kernel takes the exit codes: nobody here waits for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, LIMIT, 3)
        if not message:
            return False
        if os.fork() == 0:
            requests.close()
            return _is_command(json.loads(message), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _is_command(request: dict[str, Any], out: int, err: int, status: int) -> bool:
    """Becomes the command; the process between it and the server waits for its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if pid := os.fork():
        os.write(status, f"{pid}\n".encode())
        # A signal for the whole group is the command's alone.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.close(out)
        os.close(err)
        _, ended = os.waitpid(pid, 0)
        os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
        os._exit(0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    for descriptor in (out, err, status):
        os.close(descriptor)
    # As the interpreter opens them: those that it has were opened for other files.
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="strict")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = ["tlslab", *request["arguments"]]
    return True


if __name__ == "__main__":
    import_lab()
    # What is collected in one process would be copied in each.
    gc.freeze()
    if serve(socket.socket(fileno=int(sys.argv[1]))):
        # The interpreter ends as that of a command does.
        tlslab.cli.main()
