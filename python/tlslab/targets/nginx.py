"""nginx, with a configuration of the lab's own in a private folder."""

import os
import pwd
import re
import resource
import shutil
import socket
import subprocess
from functools import partial
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from tlslab.model.errors import CannotRunError
from tlslab.model.names import find_group
from tlslab.targets.base import Running, Setting, pinned, require
from tlslab.targets.certificates import Authority, CertificateFiles
from tlslab.targets.process import ServerProcess, wait_until

START_S = 10.0
WORKER_CONNECTIONS = 16384

# The suites of all experiments: the client picks one, so that nginx's own order has no say.
CIPHERS = "ALL:!aNULL:!eNULL"

# Another program may take the free port between our look and nginx's bind.
ATTEMPTS = 3


def find_nginx() -> str | None:
    """The nginx program; Debian keeps it where an ordinary user's PATH does not look."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


class Nginx:
    """Debian's nginx: a master and one worker, pinned together."""

    name = "nginx"
    remedy = "apt-get install nginx-light, or use another --target"

    def __init__(self, setting: Setting, program: str | None = None) -> None:
        self._setting = setting
        self._program = require(program or find_nginx(), self.name, self.remedy)
        self._authority = Authority(setting.folder)
        self._certificates: list[CertificateFiles] = []
        self._groups = [_openssl_name(group) for group in setting.groups]
        self.software, self.backend = self.versions(self._program)
        self.path = "/document"

    @staticmethod
    def versions(program: str) -> tuple[str, str]:
        """Nginx's version, and that of the TLS library that it runs with, from `nginx -V`."""
        told = subprocess.run([program, "-V"], capture_output=True, text=True, timeout=30)
        version = re.search(r"nginx version: (\S+)", told.stderr)
        running = re.search(r"running with (\w+ \S+)", told.stderr)
        built = re.search(r"built with (\w+ \S+)", told.stderr)
        library = running or built
        return (version[1] if version else "nginx"), (library[1] if library else "unknown")

    @property
    def trust_pem(self) -> str:
        """The authorities to trust, in PEM."""
        return self._authority.trust_pem

    def prepare(self) -> dict[tuple[str, str], str]:
        """Makes certificates and document; the groups that this nginx refuses, with its words."""
        folder = self._setting.folder
        self._certificates = [self._authority.issue(key) for key in self._setting.keys]
        (folder / "documents").mkdir(exist_ok=True)
        content = bytes(number % 251 for number in range(self._setting.document_bytes))
        (folder / "documents" / "document").write_bytes(content)
        lacking = {}
        for group, openssl_name in zip(self._setting.groups, list(self._groups), strict=True):
            if words := self._refusal([openssl_name]):
                lacking["group", group] = f"{self.software} with {self.backend} lacks it: {words}"
                self._groups.remove(openssl_name)
        if words := self._refusal(self._groups):
            raise CannotRunError(f"nginx refuses its configuration: {words}")
        return lacking

    def start(self) -> Running:
        """Starts a fresh nginx on a free loopback port."""
        for _ in range(ATTEMPTS):
            port = _free_port()
            config = self._configure(port, self._groups)
            command = pinned(self._command(config), self._setting.processors, "TERM")
            process = ServerProcess(command, self._setting.folder / "nginx.log")
            try:
                if wait_until(partial(_is_up, port, process), process, START_S):
                    return Running(f"https://127.0.0.1:{port}{self.path}", process)
            except BaseException:
                process.stop()
                raise
            process.stop()
        raise CannotRunError(f"nginx did not start: {process.last_words() or 'it said nothing'}")

    def _command(self, config: Path) -> list[str]:
        return [self._program, "-e", "stderr", "-p", str(self._setting.folder), "-c", str(config)]

    def _configure(self, port: int, groups: list[str]) -> Path:
        """Renders the configuration into the private folder."""
        templates = Environment(
            loader=PackageLoader("tlslab.targets"), undefined=StrictUndefined, trim_blocks=True
        )
        text = templates.get_template("nginx.conf.j2").render(
            user=_user(),
            folder=self._setting.folder,
            port=port,
            worker_connections=_worker_connections(),
            http2=self._setting.http2,
            ciphers=CIPHERS,
            groups=":".join(groups) or "auto",
            idle_s=self._setting.idle_s,
            resume=self._setting.resume,
            certificates=self._certificates,
        )
        config = self._setting.folder / "nginx.conf"
        config.write_text(text, "utf-8")
        return config

    def _refusal(self, groups: list[str]) -> str | None:
        """What `nginx -t` says against a list of groups; None when it takes them."""
        config = self._configure(_free_port(), groups)
        test = subprocess.run(
            [*self._command(config), "-t"], capture_output=True, text=True, timeout=30, check=False
        )
        if test.returncode == 0:
            return None
        found = re.search(r"\[emerg\] (?:\d+#\d+: )?(.*)", test.stderr)
        return (found[1] if found else test.stderr.strip())[:200]


def _openssl_name(group: str) -> str:
    found = find_group(group)
    return found.openssl if found else group


def _user() -> str | None:
    """The user for nginx's worker: the lab's own, who owns the private folder.

    Only a root master may change its user, and it would change to one who may not read there.
    """
    return pwd.getpwuid(os.getuid()).pw_name if os.geteuid() == 0 else None


def _worker_connections() -> int:
    """As many as experiments need, and no more than the file limit has room for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WORKER_CONNECTIONS if soft < 0 else min(WORKER_CONNECTIONS, soft)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_up(port: int, process: ServerProcess) -> bool:
    """Whether the port answers and the worker is there, so that it is accounted for."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return len(process.tree()) > 1
    except OSError:
        return False
