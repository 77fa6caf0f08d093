"""The one nginx that all generators load: one worker on one processor, its TLS settings pinned."""

import os
import pwd
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tlslab.domain.errors import CannotRunError
from tlslab.servers.base import pinned, require
from tlslab.servers.certificates import Authority, CertificateFiles
from tlslab.servers.nginx import find_nginx
from tlslab.servers.process import ServerProcess, wait_until
from tlslab.servers.programs import require_program
from tlslab.servers.reference import EventReader

SUITE = "TLS_AES_128_GCM_SHA256"
GROUP = "X25519"
KEY = "ecdsa-p256"
PROCESSOR = 0

START_S = 10.0
WORKER_CONNECTIONS = 4096


@dataclass(frozen=True)
class Server:
    """A running nginx: its address, the authority to trust, its worker's process id."""

    host: str
    tls_port: int
    plain_port: int
    path: str
    ca_file: Path
    worker: int
    facts_log: Path

    @property
    def url(self) -> str:
        """The document's address."""
        return f"https://{self.host}:{self.tls_port}{self.path}"


@dataclass(frozen=True)
class Page:
    """The served page, a document of N bytes, and how it is served.

    A `suite` of TLS 1.2 has OpenSSL's name. With `resumes` the server issues tickets.
    """

    document_bytes: int
    http2: bool = False
    key: str = KEY
    tls: str = "1.3"
    suite: str = SUITE
    group: str = GROUP
    resumes: bool = False
    # tlslab-serve in nginx's place, for groups that the system's OpenSSL lacks.
    own: bool = False


# The document for one connection per request.
PAGE = Page(2048)


@contextmanager
def serving(
    folder: Path, page: Page = PAGE, facts: str | None = None, plain_times: int = 1
) -> Iterator[Server]:
    """An nginx for the duration of the block; `facts`: its log format for requests, None for no
    log. The document of the plain port is `plain_times` as long as that of the other.

    Raises CannotRunError if nginx is not installed or does not start.
    """
    program = require(find_nginx(), "nginx", "run scripts/install-debian.sh bench")
    authority = Authority(folder)
    certificate = authority.issue(page.key)
    ca_file = folder / "ca.pem"
    ca_file.write_text(authority.trust_pem, "ascii")
    content = bytes(number % 251 for number in range(page.document_bytes))
    for name, times in (("documents", 1), ("plain", plain_times)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "document").write_bytes(content * times)
    tls_port, plain_port = _free_ports(2)
    config = _configure(folder, (tls_port, plain_port), certificate, page, facts)
    command = [program, "-e", "stderr", "-p", str(folder), "-c", str(config)]
    process = ServerProcess(pinned(command, [PROCESSOR], "TERM"), folder / "nginx.log")
    try:
        if not wait_until(partial(_is_up, tls_port, process), process, START_S):
            raise CannotRunError(f"nginx did not start: {process.last_words()}")
        server = Server(
            host="127.0.0.1",
            tls_port=tls_port,
            plain_port=plain_port,
            path="/document",
            ca_file=ca_file,
            worker=process.tree()[1].pid,
            facts_log=folder / "facts.log",
        )
        if page.own:
            with _own(server, folder, page, certificate) as own:
                yield own
        else:
            yield server
    finally:
        process.stop()


@contextmanager
def _own(
    nginx: Server, folder: Path, page: Page, certificate: CertificateFiles
) -> Iterator[Server]:
    """tlslab-serve beside an nginx that keeps the plain port."""
    command = [require_program("tlslab-serve"), "--listen", "127.0.0.1:0", "--backend", "rustls"]
    command += [
        "--group",
        page.group,
        "--suite",
        page.suite,
        "--cert",
        str(certificate.certificate),
    ]
    command = pinned([*command, "--key", str(certificate.key)], [PROCESSOR], "TERM")
    process = ServerProcess(command, folder / "serve.log", capture=True)
    try:
        ready = EventReader(process).wait_for("ready", START_S)
        yield replace(
            nginx,
            tls_port=int(str(ready["address"]).rpartition(":")[2]),
            path=f"/bytes/{page.document_bytes}",
            worker=process.tree()[0].pid,
        )
    finally:
        process.stop()


def _configure(
    folder: Path,
    ports: tuple[int, int],
    certificate: CertificateFiles,
    page: Page,
    facts: str | None,
) -> Path:
    """Renders the configuration into the private folder."""
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    templates = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True)
    text = templates.get_template("nginx.conf.j2").render(
        # Only root may change the user; nginx's default user may not read this folder.
        user=pwd.getpwuid(os.getuid()).pw_name if os.geteuid() == 0 else None,
        folder=folder,
        tls_port=ports[0],
        plain_port=ports[1],
        worker_connections=WORKER_CONNECTIONS,
        certificate=certificate,
        # In place of a group that nginx lacks: no TLS connection goes to it.
        page=replace(page, group=GROUP) if page.own else page,
        facts=facts,
    )
    config = folder / "nginx.conf"
    config.write_text(text, "utf-8")
    return config


def _free_ports(count: int) -> list[int]:
    """Distinct ports without a listener."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def _is_up(port: int, process: ServerProcess) -> bool:
    """Whether the port answers and the worker exists."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return len(process.tree()) > 1
    except OSError:
        return False
