"""Commands of the lab that run: started by fork (`live.lab_server`), used like subprocess.Popen."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TextIO


class ForkedCommand:
    """A running command. Its parent is not this process, which therefore cannot wait for it."""

    def __init__(self, stdout: TextIO, stderr: TextIO, status: TextIO) -> None:
        self.stdout, self.stderr, self._status = stdout, stderr, status
        self.pid = int(status.readline())
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
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _await_end(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            # Nothing: who waited for the command was killed, and with it a test of what is left.
            self.returncode = int(self._status.readline() or -signal.SIGKILL)
            self._status.close()
        return self.returncode


def _left(deadline: float | None) -> float | None:
    """Seconds to the deadline."""
    return None if deadline is None else max(deadline - time.monotonic(), 0)


@cache
def _server() -> socket.socket:
    """The socket of the server, which ends when this process ends."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        # Threads of a library for matrices would not survive a fork.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        subprocess.Popen(
            [sys.executable, "-m", "live.lab_server", str(its.fileno())],
            env=environment,
            cwd=Path(__file__).parents[1],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
        )
    return ours


def fork(arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> ForkedCommand:
    """Starts `tlslab` with these arguments."""
    request = {
        "arguments": arguments,
        "folder": str(folder),
        "environment": dict(environment),
    }
    (out, out_end), (err, err_end), (status, status_end) = os.pipe(), os.pipe(), os.pipe()
    ends = (out_end, err_end, status_end)
    socket.send_fds(_server(), [json.dumps(request).encode()], ends)
    for end in ends:
        os.close(end)
    return ForkedCommand(*(os.fdopen(end, encoding="utf-8") for end in (out, err, status)))
