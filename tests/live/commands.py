"""Commands of the lab that run: started by fork (`live.lab_server`), used like subprocess.Popen."""

import atexit
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from live.lab_server import Request

# The width of the tables that commands print, in characters.
WIDTH = "200"

# Seconds until the server listens, on a busy machine.
PATIENCE_S = 60


class ForkedCommand:
    """A running command. Its parent is not this process, which therefore cannot wait for it."""

    def __init__(self, connection: socket.socket, out: int, err: int) -> None:
        self._connection = connection
        self.pid = int(connection.recv(100))
        self.stdout, self.stderr = (os.fdopen(end, encoding="utf-8") for end in (out, err))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code; None while the command runs."""
        return self._await_end(0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when the command has ended; raises TimeoutExpired."""
        code = self._await_end(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("tlslab", timeout or 0)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Both outputs, when the command has ended; raises TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        # Without `with`: after a timeout, nobody waits for the readers.
        readers = ThreadPoolExecutor(2)
        read = [readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
        readers.shutdown(wait=False)
        try:
            out, err = (each.result(_left(deadline)) for each in read)
        except TimeoutError:
            raise subprocess.TimeoutExpired("tlslab", timeout or 0) from None
        self.wait(_left(deadline))
        self.stdout.close()
        self.stderr.close()
        return out, err

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless the command has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _await_end(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], timeout)[0]:
            # Nothing: the process that waits for the command was killed.
            self.returncode = int(self._connection.recv(100) or -signal.SIGKILL)
            self._connection.close()
        return self.returncode


def _left(deadline: float | None) -> float | None:
    """Seconds to the deadline."""
    return None if deadline is None else max(deadline - time.monotonic(), 0)


@cache
def server() -> Path:
    """The socket of the server, which ends when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="tlslab-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    place = folder / "lab"
    child = subprocess.Popen(
        [sys.executable, "-m", "live.lab_server", str(place)],
        # Threads of a library for matrices would not survive a fork. The width of tables is that of
        # COLUMNS only if it was set when the lab was imported.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": WIDTH},
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        # No terminal: commands take what they know of their terminal from the server.
        stderr=(folder / "errors").open("wb"),
    )
    # Kept until this process ends: the server ends when its standard input is closed.
    atexit.register(child.communicate)
    deadline = time.monotonic() + PATIENCE_S
    while not place.exists():
        assert child.poll() is None, (folder / "errors").read_text()
        assert time.monotonic() < deadline, "the server of commands does not start"
        time.sleep(0.02)
    return place


def fork(arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> ForkedCommand:
    """Starts `tlslab` with these arguments."""
    request = Request(arguments=list(arguments), folder=str(folder), environment=dict(environment))
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(str(server()))
    (out, out_end), (err, err_end) = os.pipe(), os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    streams = (nothing, out_end, err_end)
    socket.send_fds(connection, [json.dumps(request).encode()], streams)
    for stream in streams:
        os.close(stream)
    return ForkedCommand(connection, out, err)
