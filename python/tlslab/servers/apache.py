"""Apache httpd with the event MPM, with the lab's own configuration in a private folder."""

import os
import pwd
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from tlslab.servers.apache_tls import APACHE
from tlslab.servers.base import pinned
from tlslab.servers.configured import ConfiguredServer, ask, is_up
from tlslab.servers.process import ServerProcess, wait_until

# The folders in which distributions keep the modules.
MODULE_FOLDERS = (
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/libexec/apache2",
    "/usr/local/apache2/modules",
)

# Threads of each process. A connection occupies a thread from its accept to the end of its first
# request; further connections wait to be accepted. A shipped experiment opens up to 128 connections
# before their first requests: the number must exceed that. It is not much greater, because the
# lab's accounting reads every thread.
THREADS = 160

TEST_S = 10.0

# The user must be able to read the private folder of the lab's user.
UNPRIVILEGED = "nobody"

_LINE = re.compile(r"^(?:\[[^\]]*\] )*(?:AH\d+: )?(.*)$")


class Apache(ConfiguredServer):
    """Debian's Apache httpd: a first process, and one with many threads for each worker."""

    name = "apache"
    remedy = "apt-get install apache2-bin, or use another --target"
    template = "apache.conf.j2"
    syntax = APACHE
    own_place = re.compile(
        r"Syntax error on line \d+ of \S+: | Fatal error initialising mod_ssl, exiting\."
        r"| Configuration Failed"
    )

    @staticmethod
    def find() -> str | None:
        """The program, if its modules exist as well."""
        if _modules() is None:
            return None
        folders = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
        return shutil.which("apache2", path=folders) or shutil.which("httpd", path=folders)

    @staticmethod
    def versions(program: str) -> tuple[str, str]:
        """Apache's version, and that of the libcrypto to which its mod_ssl is linked."""
        version = re.search(r"Apache/(\S+)", ask([program, "-v"])[1])
        return f"apache/{version[1]}" if version else "apache", _library()

    def _command(self, config: Path) -> list[str]:
        folder = str(self._setting.folder)
        return [*_readable(), self._program, "-D", "FOREGROUND", "-d", folder, "-f", str(config)]

    def _refusal(self, config: Path) -> str | None:
        """Apache's refusal. `-t` checks the syntax; only a start shows what OpenSSL refuses."""
        code, reported = ask([*self._command(config), "-t"])
        if code != 0:
            return _words(reported)
        port = int(re.search(r"^Listen \S+:(\d+)", config.read_text("utf-8"), re.MULTILINE)[1])  # type: ignore[index]
        log = self._setting.folder / f"{self.name}.log"
        server = ServerProcess(pinned(self._command(config), (), self.end_signal), log)
        try:
            # Apache listens before it reads its certificates.
            if wait_until(lambda: is_up(server, port, self._processes()), server, TEST_S):
                return None
        finally:
            server.stop()
        return _words(log.read_text("utf-8", "replace")) or "it said nothing"

    def _processes(self) -> int:
        return 1 + self._setting.workers

    def _values(self) -> dict[str, Any]:
        return {"modules": _modules(), "threads": THREADS}

    def _arrange(self) -> None:
        """Appends the Diffie-Hellman parameters to the first certificate's file.

        `SSLOpenSSLConfCmd DHParameters` has no effect: mod_ssl's automatic parameters take
        precedence over it. The parameters of that file take precedence over both.
        """
        if self._dh is not None and self._certificates:
            with self._certificates[0].certificate.open("a") as file:
                file.write(self._dh.read_text("ascii"))


def _readable() -> list[str]:
    """The command prefix that lets Apache use a private folder when root runs the lab.

    Apache refuses to serve as root, and the user to which it changes may not read the folder.
    Therefore Apache starts as nobody, with the capability to use files of other users.
    """
    if os.geteuid() != 0:
        return []
    user = pwd.getpwnam(UNPRIVILEGED)
    ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    capability = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    # A change of user clears the signal that the kernel sends when the lab dies: it is set again.
    return ["setpriv", *ids, *capability, "--pdeathsig", Apache.end_signal, "--"]


@cache
def _modules() -> Path | None:
    """The folder of the modules; None without mod_ssl."""
    folders = (Path(folder) for folder in MODULE_FOLDERS)
    return next((folder for folder in folders if (folder / "mod_ssl.so").is_file()), None)


@cache
def _library() -> str:
    """The version text of the libcrypto to which mod_ssl is linked."""
    code, reported = ask(["ldd", f"{_modules()}/mod_ssl.so"])
    linked = re.search(r"libcrypto\S* => (\S+)", reported)
    if code != 0 or linked is None:
        return "unknown"
    named = re.search(
        rb"\b(\w+SSL \d+\.\d+\.\d+\w*) +\d+ \w{3} \d{4}", Path(linked[1]).read_bytes()
    )
    return named[1].decode("ascii") if named else "unknown"


def _words(reported: str) -> str:
    """Apache's message on one line, without times and process ids."""
    lines = (_LINE.sub(r"\1", line.strip()) for line in reported.splitlines())
    return " ".join(dict.fromkeys(line for line in lines if line))
