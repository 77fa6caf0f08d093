"""nginx, with the lab's own configuration in a private folder."""

import os
import pwd
import re
import resource
import shutil
from pathlib import Path
from typing import Any

from tlslab.servers.configured import ConfiguredServer, ask
from tlslab.servers.nginx_tls import NGINX

WORKER_CONNECTIONS = 16384


class Nginx(ConfiguredServer):
    """Debian's nginx: a master and its workers, pinned together."""

    name = "nginx"
    remedy = "apt-get install nginx-light, or use another --target"
    template = "nginx.conf.j2"
    syntax = NGINX
    own_place = re.compile(r" in \S*nginx\.conf:\d+$")

    @staticmethod
    def find() -> str | None:
        """The nginx program; Debian's folder for it is not in the PATH of ordinary users."""
        return find_nginx()

    @staticmethod
    def versions(program: str) -> tuple[str, str]:
        """Nginx's version, and that of the TLS library it runs with, from `nginx -V`."""
        _, reported = ask([program, "-V"])
        version = re.search(r"nginx version: (\S+)", reported)
        running = re.search(r"running with (\w+ \S+)", reported)
        built = re.search(r"built with (\w+ \S+)", reported)
        library = running or built
        return (version[1] if version else "nginx"), (library[1] if library else "unknown")

    def _command(self, config: Path) -> list[str]:
        return [self._program, "-e", "stderr", "-p", str(self._setting.folder), "-c", str(config)]

    def _refusal(self, config: Path) -> str | None:
        code, reported = ask([*self._command(config), "-t"])
        if code == 0:
            return None
        found = re.search(r"\[emerg\] (?:\d+#\d+: )?(.*)", reported)
        return found[1] if found else " ".join(reported.split())

    def _processes(self) -> int:
        return 1 + self._setting.workers

    def _values(self) -> dict[str, Any]:
        return {"user": _user(), "worker_connections": _worker_connections()}


def find_nginx() -> str | None:
    """The nginx program; Debian's folder for it is not in the PATH of ordinary users."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


def _user() -> str | None:
    """The user for nginx's workers: the lab's own, who owns the private folder.

    Only a master that runs as root may change its user; its default user may not read the folder.
    """
    return pwd.getpwuid(os.getuid()).pw_name if os.geteuid() == 0 else None


def _worker_connections() -> int:
    """The number of connections that experiments need, within the limit of open files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WORKER_CONNECTIONS if soft < 0 else min(WORKER_CONNECTIONS, soft)
