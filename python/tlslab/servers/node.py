"""Node.js: its own https and http2 servers, one process or a cluster of them."""

import json
import secrets
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tlslab.domain.errors import CannotRunError
from tlslab.domain.names import find_suite
from tlslab.servers.base import Running, Setting, pinned, require
from tlslab.servers.certificates import Authority, CertificateFiles
from tlslab.servers.dhparam import parameters_pem
from tlslab.servers.openssl import group_name, tls13_suites
from tlslab.servers.process import ServerProcess
from tlslab.servers.reference import EventReader
from tlslab.servers.rendering import PATH

SCRIPT = Path(__file__).parent / "templates" / "node-server.js"
START_S = 20.0
ASK_S = 20.0
BACKLOG = 4096

# Node's own length of a ticket's keys: name, HMAC and AES.
TICKET_KEY_BYTES = 48

# All suites, for the client to choose one. Security level 0 allows 1024-bit parameters and SHA-1.
CIPHERS = f"{tls13_suites()}:ALL:!aNULL:!eNULL:@SECLEVEL=0"


def find_node() -> str | None:
    """The program of Node.js; Debian called it `nodejs` for a time."""
    return shutil.which("node") or shutil.which("nodejs")


class Node:
    """Node.js with the lab's own script: one process, or a primary with its workers."""

    name = "node"
    remedy = "apt-get install nodejs, or use another --target"

    def __init__(self, setting: Setting, program: str | None = None) -> None:
        self._setting = setting
        self._program = require(program or find_node(), "Node.js", self.remedy)
        self._authority = Authority(setting.folder, (setting.listen,))
        self._certificates: list[CertificateFiles] = []
        self._groups = {group_name(group): group for group in setting.groups}
        self.software, self.backend = self.versions(self._program)
        self.path = PATH

    @staticmethod
    def versions(program: str) -> tuple[str, str]:
        """Node's version, and that of its OpenSSL. Raises CannotRunError with Node's own words."""
        reported = json.loads(_ask([program, "-p", "JSON.stringify(process.versions)"]))
        return f"node/{reported['node']}", f"OpenSSL {reported.get('openssl', 'unknown')}"

    @property
    def trust_pem(self) -> str:
        """The trusted authorities, in PEM; known after `prepare`."""
        return self._authority.trust_pem

    def prepare(self) -> dict[tuple[str, str], str]:
        """Makes the certificates; returns the groups and suites that this Node refuses, in its
        words.
        """
        if not self._setting.plain:
            self._certificates = self._authority.serve(self._setting.keys, self._setting.levels)
        suites = {_openssl_suite(suite): suite for suite in self._setting.suites}
        config = self._configure({"suites": list(suites)})
        answer = json.loads(_ask([self._program, str(SCRIPT), str(config), "--check"]))
        if answer["refusal"]:
            raise CannotRunError(f"Node.js refuses its configuration: {answer['refusal']}")
        named = f"{self.software} with {self.backend} lacks it: "
        lacking = {}
        for group, words in answer["group"].items():
            lacking["group", self._groups.pop(group)] = named + words
        for suite, words in answer["suite"].items():
            lacking["suite", suites[suite]] = named + words
        return lacking

    def start(self) -> Running:
        """Starts a fresh server on a free port, and waits for all its workers."""
        command = [self._program, str(SCRIPT), str(self._configure({}))]
        process = ServerProcess(
            pinned(command, self._setting.processors, "KILL"),
            self._setting.folder / "node.log",
            capture=True,
        )
        try:
            ready = EventReader(process, "Node.js").wait_for("ready", START_S)
        except BaseException:
            process.stop()
            raise
        scheme = "http" if self._setting.plain else "https"
        return Running(f"{scheme}://{ready['address']}{self.path}", process)

    def _configure(self, more: dict[str, Any]) -> Path:
        """Writes the script's configuration into the private folder."""
        setting = self._setting
        dh = setting.levels.get("dh_bits")
        tickets = setting.resume in ("ticket", "psk", "psk-only")
        config = {
            "listen": setting.listen,
            "host": setting.host,
            "path": self.path,
            "documentBytes": setting.document_bytes,
            "workers": setting.workers,
            "http2": setting.http2,
            "plain": setting.plain,
            "idleMs": setting.idle_s * 1000,
            "backlog": BACKLOG,
            "certificates": [
                {name: str(path) for name, path in vars(files).items() if path}
                for files in self._certificates
            ],
            "ciphers": CIPHERS,
            "groups": list(self._groups),
            "dhparam": "auto" if dh is None else parameters_pem(dh),
            # One key for all workers: otherwise only the worker that issued a ticket could read it.
            "ticketKeys": secrets.token_hex(TICKET_KEY_BYTES) if tickets else None,
            "sessions": setting.resume == "id",
            **more,
        }
        file = setting.folder / "node.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps(config), "utf-8")
        return file


def _openssl_suite(suite: str) -> str:
    found = find_suite(suite)
    return found.openssl if found else suite


def _ask(command: list[str]) -> str:
    """The output of a short call of Node. Raises CannotRunError with Node's own words."""
    try:
        reported = subprocess.run(
            command, capture_output=True, text=True, timeout=ASK_S, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise CannotRunError(f"Node.js did not answer within {ASK_S:.0f} s") from None
    except OSError as error:
        raise CannotRunError(f"{command[0]}: {error.strerror}", Node.remedy) from None
    if reported.returncode != 0:
        words = " ".join(reported.stderr.split())[-400:] or "it said nothing"
        raise CannotRunError(f"Node.js ended with {reported.returncode}: {words}")
    return reported.stdout
