"""The reference target: `tlslab-serve`, with the OpenSSL back end.

One library serves all groups, so that a difference between groups is not one between libraries.
"""

import json
import os
import select
import signal
import time
from typing import Any

from tlslab.model.errors import CannotRunError
from tlslab.targets.base import Running, Setting, pinned, require
from tlslab.targets.certificates import Authority
from tlslab.targets.process import ServerProcess
from tlslab.targets.programs import REMEDY, find_program

START_S = 10.0
STATS_S = 2.0

# Smaller Diffie-Hellman parameters have to be allowed in so many words.
SAFE_DH_BITS = 2048


PROGRAM = "tlslab-serve"


def find_reference() -> str | None:
    """The program, which the package brings along."""
    return find_program(PROGRAM)


class Reference:
    """The server that comes with tlslab."""

    name = "reference"
    backend = "openssl"
    software = "tlslab-serve"

    def __init__(self, setting: Setting, program: str | None = None) -> None:
        self._setting = setting
        self._program = require(program or find_reference(), PROGRAM, REMEDY)
        self._authority = Authority(setting.folder)
        self._certificates: list[str] = []
        self.path = f"/bytes/{setting.document_bytes}"

    @property
    def trust_pem(self) -> str:
        """The authorities to trust, in PEM."""
        return self._authority.trust_pem

    def prepare(self) -> dict[tuple[str, str], str]:
        """Makes the certificates. This server lacks nothing that experiments can ask for."""
        for key in self._setting.keys:
            files = self._authority.issue(key)
            self._certificates += ["--cert", str(files.certificate), "--key", str(files.key)]
        return {}

    def start(self) -> Running:
        """Starts a fresh server on a free loopback port."""
        command = [self._program, "--listen", "127.0.0.1:0", "--backend", self.backend]
        setting = self._setting
        command += ["--idle", f"{setting.idle_s}s", "--pause", f"{setting.pause_ms}ms"]
        command += ["--threads", str(setting.workers)]
        for option, names in (("--group", setting.groups), ("--suite", setting.suites)):
            for name in names:
                command += [option, name]
        if setting.dh_bits is not None:
            command += ["--dh-bits", str(setting.dh_bits)]
            command += ["--allow-obsolete"] if setting.dh_bits < SAFE_DH_BITS else []
        if self._setting.resume != "none":
            command += ["--resumption", self._setting.resume.removesuffix("-only")]
        command = pinned(command + self._certificates, self._setting.processors, "KILL")
        process = ServerProcess(command, self._setting.folder / "serve.log", capture=True)
        events = EventReader(process)
        try:
            ready = events.wait_for("ready", START_S)
        except BaseException:
            process.stop()
            raise
        return Running(f"https://{ready['address']}{self.path}", process, events.handshakes)


class EventReader:
    """Reads the server's events, JSON lines on its standard output."""

    def __init__(self, process: ServerProcess) -> None:
        stream = process.popen.stdout
        assert stream is not None
        self._process = process
        self._handle = stream.fileno()
        self._pending = b""

    def wait_for(self, name: str, seconds: float) -> dict[str, Any]:
        """The next event of that name; others before it are passed over. Raises CannotRunError."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            while b"\n" in self._pending:
                line, _, self._pending = self._pending.partition(b"\n")
                event = _event(line)
                if event.get("event") == name:
                    return event
            if select.select([self._handle], [], [], left)[0]:
                chunk = os.read(self._handle, 1 << 16)
                if not chunk:
                    break
                self._pending += chunk
        words = self._process.last_words() or "it said nothing"
        raise CannotRunError(f"the reference server gave no sign of '{name}': {words}")

    def handshakes(self) -> int:
        """Full handshakes since the server's start, by its own books."""
        os.kill(self._process.pid, signal.SIGUSR1)
        stats = self.wait_for("stats", STATS_S)
        return int(stats["stats"]["handshakes"]["full"])


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
