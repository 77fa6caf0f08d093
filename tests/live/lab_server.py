"""Starts commands of the lab by fork, from a process that has imported and used its modules once.

`python -m live.lab_server SOCKET` listens there until its standard input is closed. A connection is
a command. Its first message is a `Request` as JSON, with the descriptors of the command's three
standard streams. The answers are the command's process id, and its exit code when it has ended. A
command ends when its connection is closed.

To import the modules takes more processor time than all else that the lab does in a short run.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
from typing import TypedDict

import tlslab
import tlslab.cli
from factories.run import made_run
from tlslab.analysis import summarise
from tlslab.lab.store import from_json, to_json
from tlslab.report import render_html

# What modules import when they are used first; the last one by the parser of the command line.
LATE = ("ruptures", "scipy.optimize", "scipy.stats", "typer._adapters")

# A message's greatest length, in bytes: arguments and environment.
LIMIT = 1 << 17


class Request(TypedDict):
    """The arguments of `tlslab`, and the folder and the environment in which it runs."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]


def import_lab() -> None:
    """Imports all modules of the lab but those for clusters, which import and configure Ray."""
    for name in LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    packages = [tlslab]
    while packages:
        package = packages.pop()
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if found.name.endswith(("__main__", ".cluster")):
                continue
            with contextlib.suppress(ImportError):
                module = importlib.import_module(found.name)
                packages += [module] if found.ispkg else []


def use_lab() -> None:
    """Makes what commands make when they use it first: converters of JSON, and templates."""
    contents = made_run(quick=True)
    summary = summarise(contents)
    for each in (contents.trials[0], contents.plan, contents.environment, summary):
        from_json(json.loads(json.dumps(to_json(each))), type(each))
    render_html(summary)


def serve(listener: socket.socket) -> bool:
    """Starts a process for each connection; returns True in such a process."""
    # The kernel takes the exit codes: nobody here waits for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return False
        connection, _ = listener.accept()
        with connection:
            if os.fork() == 0:
                listener.close()
                return _is_command(connection)


def _is_command(connection: socket.socket) -> bool:
    """Becomes the command; a process between it and the server waits for its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(connection, LIMIT, 3)
    if pid := os.fork():
        # A signal for the whole group is the command's alone.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in streams:
            os.close(stream)
        _report(connection, pid)
        os._exit(0)
    connection.close()
    request: Request = json.loads(message)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # As the interpreter opens them: those that it has were opened for other files.
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="strict")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = ["tlslab", *request["arguments"]]
    return True


def _report(connection: socket.socket, pid: int) -> None:
    """Sends the process id, and the exit code at the end; a closed connection ends the command."""
    command = os.pidfd_open(pid)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.send(f"{pid}".encode())
    ready, _, _ = select.select([command, connection.fileno()], [], [])
    if command not in ready:
        os.kill(pid, signal.SIGKILL)
    _, ended = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.send(f"{os.waitstatus_to_exitcode(ended)}".encode())


if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(f"{sys.argv[1]}.new")
        listening.listen()
        import_lab()
        use_lab()
        # What is collected in one process would be copied in each.
        gc.freeze()
        os.rename(f"{sys.argv[1]}.new", sys.argv[1])
        is_command = serve(listening)
    if is_command:
        # The interpreter ends as that of a command does.
        tlslab.cli.main()
