"""The reference targets: `tlslab-serve`, with the OpenSSL back end or with rustls.

One library serves all groups, so that differences between groups are not differences between
libraries.
"""

import json
import os
import select
import signal
import time
from collections.abc import Iterable
from typing import Any

from tlslab.domain.errors import CannotRunError
from tlslab.domain.factors import SAFE_DH_BITS
from tlslab.domain.names import OBSOLETE_TLS_VERSIONS, SUITES
from tlslab.servers.base import Running, Setting, pinned, require
from tlslab.servers.certificates import Authority
from tlslab.servers.process import ServerProcess
from tlslab.servers.programs import REMEDY, find_program, has_openssl, without_openssl

START_S = 10.0

# The server shares its processor with the load that it serves.
STATS_S = 10.0


PROGRAM = "tlslab-serve"


def find_reference() -> str | None:
    """The program, which is part of the package."""
    return find_program(PROGRAM)


# The groups, and the ciphers of the suites, of the server on rustls. On OpenSSL it has all.
RUSTLS_GROUPS = (
    "X25519",
    "P-256",
    "P-384",
    "P-521",
    "X25519MLKEM768",
    "SecP256r1MLKEM768",
    "MLKEM768",
)
_RUSTLS_CIPHERS = ("AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305_SHA256")
RUSTLS_SUITES = tuple(
    suite.name
    for suite in SUITES
    if (suite.tls == "1.3" or suite.name.startswith("TLS_ECDHE_"))
    and suite.name.endswith(_RUSTLS_CIPHERS)
)


# The server's versions if an experiment needs obsolete protocols.
OBSOLETE_VERSIONS = (*OBSOLETE_TLS_VERSIONS, "1.2")


class Reference:
    """The server that comes with tlslab, on OpenSSL."""

    name = "reference"
    backend = "openssl"
    software = "tlslab-serve"

    def __init__(self, setting: Setting, program: str | None = None) -> None:
        self._setting = setting
        self._program = require(program or find_reference(), PROGRAM, REMEDY)
        if program is None and self.needs_openssl() and not has_openssl(self._program):
            raise without_openssl(self._program)
        self._groups, self._suites = setting.groups, setting.suites
        self._authority = Authority(setting.folder, (setting.listen,))
        self._certificates: list[str] = []
        self.path = f"/bytes/{setting.document_bytes}"

    @classmethod
    def needs_openssl(cls) -> bool:
        """Whether a program that was built without OpenSSL is not enough."""
        return cls.backend == "openssl"

    @property
    def trust_pem(self) -> str:
        """The trusted authorities, in PEM."""
        return self._authority.trust_pem

    def prepare(self) -> dict[tuple[str, str], str]:
        """Makes the certificates. This server lacks generated Diffie-Hellman parameters only."""
        if self._setting.plain:
            return {}
        for files in self._authority.serve(self._setting.keys, self._setting.levels):
            self._certificates += ["--cert", str(files.certificate), "--key", str(files.key)]
            if files.ocsp_response is not None:
                self._certificates += ["--staple", str(files.ocsp_response)]
        return self._setting.standard_groups_only()

    def start(self) -> Running:
        """Starts a fresh server on a free port of the address that it listens on."""
        setting = self._setting
        backend = "none" if setting.plain else self.backend
        command = [self._program, "--listen", f"{setting.host}:0", "--backend", backend]
        command += ["--idle", f"{setting.idle_s}s", "--pause", f"{setting.pause_ms}ms"]
        command += ["--threads", str(setting.workers)]
        if (burn := setting.levels.get("burn")) is not None:
            command += ["--burn", burn]
        if not setting.plain:
            command += self._tls_options()
        command = pinned(command, setting.processors, "KILL")
        process = ServerProcess(command, self._setting.folder / "serve.log", capture=True)
        events = EventReader(process)
        try:
            ready = events.wait_for("ready", START_S)
        except BaseException:
            process.stop()
            raise
        if setting.plain:
            return Running(f"http://{ready['address']}{self.path}", process)
        return Running(f"https://{ready['address']}{self.path}", process, events.handshakes)

    def _tls_options(self) -> list[str]:
        setting, options = self._setting, []
        for option, names in (("--group", self._groups), ("--suite", self._suites)):
            options += [part for name in names for part in (option, name)]
        if (bits := setting.dh_bits) is not None:
            options += ["--dh-bits", str(bits)]
        if setting.obsolete or (bits or SAFE_DH_BITS) < SAFE_DH_BITS:
            options.append("--allow-obsolete")
        if setting.obsolete:
            options += [part for version in OBSOLETE_VERSIONS for part in ("--tls", version)]
        if setting.resume != "none":
            options += ["--resumption", setting.resume.removesuffix("-only")]
        return options + self._certificates


class RustlsReference(Reference):
    """The same server on rustls."""

    name = "reference-rustls"
    backend = "rustls"

    def prepare(self) -> dict[tuple[str, str], str]:
        """Makes the certificates. Returns the levels that rustls lacks."""
        super().prepare()
        self._groups = tuple(name for name in self._groups if name in RUSTLS_GROUPS)
        self._suites = tuple(name for name in self._suites if name in RUSTLS_SUITES)
        return {
            **self._lacking("group", self._setting.groups, self._groups),
            **self._lacking("suite", self._setting.suites, self._suites),
            **self._lacking("resume", ("psk-only",), ()),
        }

    def _lacking(
        self, factor: str, wanted: Iterable[str], known: Iterable[str]
    ) -> dict[tuple[str, str], str]:
        reason = f"{self.software} with {self.backend} lacks it"
        return {(factor, level): reason for level in wanted if level not in known}


class EventReader:
    """Reads the server's events, JSON lines on its standard output; `name` is for its errors."""

    def __init__(self, process: ServerProcess, name: str = "the reference server") -> None:
        stream = process.popen.stdout
        assert stream is not None
        self._process = process
        self._name = name
        self._handle = stream.fileno()
        self._pending = b""

    def wait_for(self, name: str, seconds: float) -> dict[str, Any]:
        """The next event with this name; skips events of other names. Raises CannotRunError."""
        deadline = time.monotonic() + seconds
        while True:
            while b"\n" in self._pending:
                line, _, self._pending = self._pending.partition(b"\n")
                event = _event(line)
                if event.get("event") == name:
                    return event
            # Reads the output that has arrived, even if the lab itself was delayed beyond the
            # deadline.
            if not self._read(max(0.0, deadline - time.monotonic())):
                break
        words = self._process.last_words() or "it said nothing"
        raise CannotRunError(f"{self._name} gave no sign of '{name}': {words}")

    def _read(self, seconds: float) -> bool:
        """Reads the server's output until a timeout; returns whether there was any."""
        if not select.select([self._handle], [], [], seconds)[0]:
            return False
        chunk = os.read(self._handle, 1 << 16)
        self._pending += chunk
        return bool(chunk)

    def handshakes(self) -> int:
        """Full handshakes since the server's start, by its own count."""
        # An answer that came too late for an earlier question does not answer this one.
        while self._read(0.0):
            pass
        self._pending = b""
        os.kill(self._process.pid, signal.SIGUSR1)
        stats = self.wait_for("stats", STATS_S)
        return int(stats["stats"]["handshakes"]["full"])


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
