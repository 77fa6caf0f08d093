"""The shared parts of servers that run with a configuration file of the lab."""

import re
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from tlslab.domain.errors import CannotRunError
from tlslab.servers.address import LOOPBACK
from tlslab.servers.base import Running, Setting, pinned, require
from tlslab.servers.certificates import Authority, CertificateFiles, own_trust, server_name
from tlslab.servers.dhparam import write_parameters
from tlslab.servers.openssl import cipher_list, group_list, tls13_suites
from tlslab.servers.process import Processes, ServerProcess, wait_until
from tlslab.servers.rendering import FOLDER, PATH, render, write_document
from tlslab.servers.tls_part import Syntax

TEST_S = 30

# The largest number of characters of a server's own message in a reason.
WORDS = 300

# The remedy if a server refuses the configuration that the lab made of an experiment's levels.
LAB_S_OWN = "choose other levels (--set), or another server: `tlslab targets` lists them"


class ConfiguredServer(ABC):
    """A server on OpenSSL, its configuration rendered into a private folder.

    A subclass provides the program's path, its command, its number of processes when it is up, and
    its objections to a configuration.
    """

    name: str
    remedy: str
    template: str

    # How its files are read, if they are; the parts of its words that say nothing to the user, as
    # places in the file that the lab made.
    syntax: Syntax | None = None
    own_place: re.Pattern[str] = re.compile("$^")

    # The signal that ends the server when the lab is killed.
    end_signal: str = "TERM"

    def __init__(self, setting: Setting, program: str | None = None) -> None:
        self._setting = setting
        self._program = require(program or self.find(), self.name, self.remedy)
        self._authority = Authority(setting.folder, (setting.listen,))
        self._certificates: list[CertificateFiles] = []
        self._dh: Path | None = None
        self._groups = list(setting.groups)
        self.software, self.backend = self.versions(self._program)
        self.path = PATH

    @staticmethod
    @abstractmethod
    def find() -> str | None:
        """The program; None if it is not installed."""

    @staticmethod
    @abstractmethod
    def versions(program: str) -> tuple[str, str]:
        """The program's name with its version, and the TLS library it runs with."""

    @abstractmethod
    def _command(self, config: Path) -> list[str]:
        """The command that serves in the foreground."""

    @abstractmethod
    def _refusal(self, config: Path) -> str | None:
        """The server's objection to a configuration; None if it accepts the configuration."""

    def _processes(self) -> int:
        """The number of the server's processes when it is completely up."""
        return 1

    def _values(self) -> dict[str, Any]:
        """Values for the template, in addition to those of all templates."""
        return {}

    def _arrange(self) -> None:  # noqa: B027 -- most servers take them as they are
        """Converts certificates and parameters to the form that the server takes."""

    @property
    def trust_pem(self) -> str:
        """The trusted authorities, and the user's own certificates, in PEM."""
        return self._authority.trust_pem + own_trust(self._setting.configuration)

    def prepare(self) -> dict[tuple[str, str], str]:
        """Makes certificates and document.

        Returns the groups that this server refuses, with its words.
        """
        setting = self._setting
        if not setting.plain:
            self._certificates = self._certify()
        write_document(setting.folder, setting.document_bytes)
        self._dh = write_parameters(setting.folder, setting.levels.get("dh_bits"))
        self._arrange()
        if setting.configuration is not None:
            self._groups = []
        if self._refused(self._groups) is None:
            return {}
        if words := self._refused(()):
            raise self._refusing(words)
        lacking = {}
        for group in setting.groups:
            if words := self._refused([group]):
                lacking["group", group] = f"{self.software} with {self.backend} lacks it: {words}"
                self._groups.remove(group)
        if words := self._refused(self._groups):
            raise self._refusing(words)
        return lacking

    def _refusing(self, words: str) -> CannotRunError:
        """The error for a configuration that the server refuses in these words."""
        given = self._setting.configuration
        if given is not None and self.syntax is not None:
            said = self.own_place.sub("", words).strip()
            return CannotRunError(
                f"{self.name} refuses {self.syntax.at_fault(given, said)}: {said}",
                f"correct this directive; `{self.syntax.checks}` checks the whole file",
            )
        return CannotRunError(f"{self.name} refuses its configuration: {words}", LAB_S_OWN)

    def _certify(self) -> list[CertificateFiles]:
        """The certificates to serve: the lab's own, or the user's if a configuration has any."""
        given = self._setting.configuration
        if given is None:
            return self._authority.serve(self._setting.keys, self._setting.levels)
        name = server_name(given)
        return [
            CertificateFiles(Path(each.certificate), Path(each.private_key))
            if each.certificate
            else self._authority.issue(each.key, name=name)
            for each in given.certificates
        ]

    def start(self, *upstreams: str) -> Running:
        """Starts a fresh server on a free port of the address that it listens on."""

        def launch(port: int) -> ServerProcess:
            config = self._configure(port, self._groups, upstreams)
            command = pinned(self._command(config), self._setting.processors, self.end_signal)
            return ServerProcess(command, self._setting.folder / f"{self.name}.log")

        setting = self._setting
        port, process = start_on_free_port(
            self.name, launch, self._processes(), address=setting.listen
        )
        scheme = "http" if setting.plain else "https"
        return Running(f"{scheme}://{setting.host}:{port}{self.path}", process)

    def _refused(self, groups: Sequence[str]) -> str | None:
        """The server's objection to these groups; a port in use is not one."""
        words: str | None = None
        for _ in range(ATTEMPTS):
            port = free_port(self._setting.listen)
            words = self._refusal(self._configure(port, groups))
            if words is None or not is_taken(words):
                break
        return words[:WORDS] if words else None

    def _configure(self, port: int, groups: Sequence[str], upstreams: Sequence[str] = ()) -> Path:
        """Renders the configuration into the private folder."""
        setting = self._setting
        values = {
            "folder": setting.folder,
            "documents": setting.folder / FOLDER,
            "host": setting.host,
            "port": port,
            "workers": setting.workers,
            "http2": setting.http2,
            "plain": setting.plain,
            "upstreams": [urlsplit(url) for url in upstreams],
            "passes_tls": setting.passes_tls,
            "ciphers": cipher_list(setting.suites, setting.dh_bits),
            "tls13_suites": tls13_suites(),
            "groups": group_list(groups),
            "dh": self._dh,
            "idle_s": setting.idle_s,
            "resume": setting.resume,
            "certificates": self._certificates,
            "configuration": setting.configuration,
        }
        config = setting.folder / self.template.removesuffix(".j2")
        return render(self.template, config, values | self._values())


def ask(command: Sequence[str]) -> tuple[int, str]:
    """A short command's exit code and complete output. Raises CannotRunError."""
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TEST_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRunError(f"{command[0]} cannot be run: {error}") from None
    return ended.returncode, ended.stdout


START_S = 10.0

# Another program may take the free port between the lab's check and the server's bind.
ATTEMPTS = 3

# Messages of servers and their libraries for a port in use.
_TAKEN = re.compile(r"address (is )?(already )?in use|EADDRINUSE", re.IGNORECASE)


def free_port(address: str = LOOPBACK) -> int:
    """A TCP port of an address of this machine without a listener at this moment."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def is_taken(words: str) -> bool:
    """Whether a server's message means that another program has the port."""
    return _TAKEN.search(words) is not None


def listens(server: Processes, port: int) -> bool:
    """Whether a process of this server, and not of another one, listens on the port."""
    for process in server.tree():
        try:
            connections = process.net_connections("tcp")
        except psutil.Error:
            continue
        if any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in connections):
            return True
    return False


def start_on_free_port(
    name: str,
    launch: Callable[[int], ServerProcess],
    processes: int = 1,
    seconds: float = START_S,
    address: str = LOOPBACK,
) -> tuple[int, ServerProcess]:
    """Starts a server on a free port of an address; returns the port and the server's processes.

    The server is up when it listens and has at least `processes` processes, so that none is missed.
    If another program has the port, another port is tried. Raises CannotRunError with the server's
    last words if the server ends or is not up in time.
    """
    words = ""
    for _ in range(ATTEMPTS):
        port = free_port(address)
        server = launch(port)
        try:
            if wait_until(lambda: is_up(server, port, processes), server, seconds):  # noqa: B023
                return port, server
        except BaseException:
            server.stop()
            raise
        ended = not server.alive()
        server.stop()
        words = server.last_words() or "it said nothing"
        if not is_taken(words):
            doing = "ended at once" if ended else f"was not up after {seconds:.0f} s"
            raise CannotRunError(f"{name} {doing}: {words}")
    raise CannotRunError(f"{name} found {ATTEMPTS} ports taken, one after the other: {words}")


def is_up(server: Processes, port: int, processes: int) -> bool:
    """Whether the server listens on the port, and has at least `processes` processes."""
    return len(server.tree()) >= processes and listens(server, port)
