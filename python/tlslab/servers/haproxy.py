"""HAProxy, alone or as TLS offloader, with the lab's own configuration in a private folder."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

from tlslab.domain.errors import CannotRunError
from tlslab.servers.base import Setting
from tlslab.servers.configured import ConfiguredServer, ask
from tlslab.servers.haproxy_tls import HAPROXY
from tlslab.servers.openssl import is_weak
from tlslab.servers.rendering import FOLDER, NAME, render

# Without a server behind it, HAProxy answers from one buffer, which also contains the head.
BUFFER_BYTES = 16384
HEAD_BYTES = 2048
DOCUMENT_LIMIT = 1 << 20

_NOISE = re.compile(r"\[(?:ALERT|WARNING|NOTICE)\]\s+\(\d+\) : (?:config : )?")


class HAProxy(ConfiguredServer):
    """Debian's HAProxy: one process with a thread for each worker."""

    name = "haproxy"
    remedy = "apt-get install haproxy, or use another --target"
    template = "haproxy.cfg.j2"
    syntax = HAPROXY
    own_place = re.compile(
        r"parsing \[\S*haproxy\.cfg:\d+\] : (?:'bind [^']*' in section '\w+' : )?"
        r"|Proxy 'clients': | for bind '[^']*' at \[\S*haproxy\.cfg:\d+\]\."
        r"| ?(?:Error\(s\)|Fatal errors) found in configuration(?: file : \S*haproxy\.cfg|\.)"
    )

    # A single process has no other processes to end.
    end_signal = "KILL"

    def __init__(self, setting: Setting, program: str | None = None) -> None:
        super().__init__(setting, program)
        self._served: list[Path] = []

    @staticmethod
    def find() -> str | None:
        """The program; Debian's folder for it is not in the PATH of ordinary users."""
        folders = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
        return shutil.which("haproxy", path=folders)

    @staticmethod
    def versions(program: str) -> tuple[str, str]:
        """HAProxy's version, and that of the TLS library it runs with, from `-vv`."""
        _, reported = ask([program, "-vv"])
        version = re.search(r"HAProxy version (\d[\w.]*)", reported)
        library = re.search(r"Running on \w+ version : (\S+ \S+)", reported)
        name = f"haproxy/{version[1]}" if version else "haproxy"
        return name, library[1] if library else "unknown"

    def _command(self, config: Path) -> list[str]:
        command = [self._program, "-db", "-f", str(config)]
        setting = self._setting
        if setting.configuration is not None:
            return command
        values = {
            "weak": is_weak(setting.suites, setting.dh_bits),
            "tickets": setting.resume in ("psk", "psk-only"),
        }
        # HAProxy has no directive for these: it always sends TLS 1.3 tickets, and it reads the
        # Diffie-Hellman parameters before the suites with their security level.
        openssl = render("openssl.cnf.j2", config.with_name("openssl.cnf"), values)
        return ["env", f"OPENSSL_CONF={openssl}", *command]

    def _refusal(self, config: Path) -> str | None:
        code, reported = ask([*self._command(config), "-c"])
        if code == 0:
            return None
        alerts = [line for line in reported.splitlines() if line.startswith("[ALERT]")]
        return " ".join(_NOISE.sub("", line).strip() for line in alerts or reported.splitlines())

    def _arrange(self) -> None:
        """Gives each certificate a name with its key and its OCSP response beside it.

        HAProxy looks for them at CERTIFICATE.key and CERTIFICATE.ocsp. The names are links in the
        private folder: no private key is copied, and no other folder gets a file.
        """
        setting = self._setting
        size = setting.document_bytes
        if size > DOCUMENT_LIMIT:
            raise CannotRunError(
                f"haproxy alone serves documents of {DOCUMENT_LIMIT} bytes at most, not {size}",
                "put it before another server as front, or use another --target",
            )
        self._served = []
        for number, files in enumerate(self._certificates):
            if files.key in (files.certificate, Path(f"{files.certificate}.key")):
                # The user's own, as HAProxy takes them.
                self._served.append(files.certificate)
                continue
            link = setting.folder / f"served-{number}.pem"
            beside = {"": files.certificate, ".key": files.key}
            if files.ocsp_response is not None and files.issuer is not None:
                # HAProxy looks for the certificate's issuer in the response, and does not send it.
                beside |= {".ocsp": files.ocsp_response, ".issuer": files.issuer}
            for suffix, file in beside.items():
                place = Path(f"{link}{suffix}")
                place.unlink(missing_ok=True)
                place.symlink_to(file.absolute())
            self._served.append(link)

    def _values(self) -> dict[str, Any]:
        setting = self._setting
        buffer = max(BUFFER_BYTES, setting.document_bytes + HEAD_BYTES)
        document = setting.folder / FOLDER / NAME
        return {"served": self._served, "buffer_bytes": buffer, "document": document}
