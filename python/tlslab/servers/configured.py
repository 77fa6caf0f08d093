"""The shared parts of servers that run with a configuration file of the lab."""

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tlslab.domain.errors import CannotRunError
from tlslab.servers.base import Running, Setting, pinned, require
from tlslab.servers.certificates import Authority, CertificateFiles
from tlslab.servers.dhparam import write_parameters
from tlslab.servers.documents import FOLDER, PATH, write_document
from tlslab.servers.openssl import cipher_list, group_list, tls13_suites
from tlslab.servers.own_certificates import own_trust, server_name
from tlslab.servers.ports import ATTEMPTS, free_port, is_taken, start_on_free_port
from tlslab.servers.process import ServerProcess
from tlslab.servers.rendering import render

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
        self._dh = write_parameters(setting.folder, setting.dh_bits)
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
        return CannotRunError(f"{self.name} refuses its configuration: {words}", LAB_S_OWN)

    def _certify(self) -> list[CertificateFiles]:
        """The certificates to serve: the lab's own, or the user's if a configuration has any."""
        given = self._setting.configuration
        if given is None:
            stapled = self._setting.ocsp_stapling
            return [self._authority.issue(key, stapled=stapled) for key in self._setting.keys]
        name = server_name(given)
        return [
            CertificateFiles(Path(each.certificate), Path(each.private_key))
            if each.certificate
            else self._authority.issue(each.key, name=name)
            for each in given.certificates
        ]

    def start(self, upstream: str | None = None) -> Running:
        """Starts a fresh server on a free port of the address that it listens on."""

        def launch(port: int) -> ServerProcess:
            config = self._configure(port, self._groups, upstream or self._setting.upstream)
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
            words = self._refusal(self._configure(port, groups, self._setting.upstream))
            if words is None or not is_taken(words):
                break
        return words[:WORDS] if words else None

    def _configure(self, port: int, groups: Sequence[str], upstream: str | None) -> Path:
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
            "upstream": urlsplit(upstream) if upstream else None,
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
