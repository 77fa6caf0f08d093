"""Servers that differ in the tickets that they send on resumed connections."""

import getpass
import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tlslab.servers import Authority
from tlslab.servers.certificates import CertificateFiles
from tlslab.servers.process import ServerProcess, wait_until
from tlslab.servers.programs import require_program

LIGHTTPD = """\
server.modules = ("mod_openssl")
server.document-root = "{folder}"
server.bind = "127.0.0.1"
server.port = {port}
ssl.engine = "enable"
ssl.pemfile = "{files.certificate}"
ssl.privkey = "{files.key}"
"""

# Servers that drop root's rights keep the tests' own user: only that user may read the folders.
H2O = """\
user: {user}
listen:
  host: 127.0.0.1
  port: {port}
  ssl:
    certificate-file: {files.certificate}
    key-file: {files.key}
    minimum-version: TLSv1.3
    max-version: TLSv1.3
hosts:
  default:
    paths:
      /:
        file.dir: {folder}
"""

NGINX = """\
daemon off;
user {user};
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_protocols TLSv1.3;
    ssl_certificate {files.certificate};
    ssl_certificate_key {files.key};
    root {folder};
  }}
}}
"""

# The server's configuration, its command, and whether it sends tickets on resumed connections.
SERVERS = {
    "lighttpd": (LIGHTTPD, ["/usr/sbin/lighttpd", "-D", "-f"], False),
    "h2o": (H2O, ["/usr/bin/h2o", "-c"], False),
    "nginx": (NGINX, ["/usr/sbin/nginx", "-c"], True),
}


@contextmanager
def serving(folder: Path, name: str) -> Iterator[tuple[int, Path]]:
    """A running server with a page: its port, and the authority to trust."""
    authority = Authority(folder)
    files: CertificateFiles = authority.issue("ecdsa-p256")
    ca = folder / "ca.pem"
    ca.write_text(authority.trust_pem)
    (folder / "page").write_text("x" * 1000)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    template, command, _ = SERVERS[name]
    config = folder / "server.conf"
    config.write_text(
        template.format(folder=folder, port=port, files=files, user=getpass.getuser())
    )
    process = ServerProcess([*command, str(config)], folder / "server.log")

    def listens() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    try:
        assert wait_until(listens, process, 10), process.last_words()
        yield port, ca
    finally:
        process.stop()


def ran(ca: Path, *arguments: str) -> Any:
    command = [require_program("tlslab-load"), "--json", "--ca", str(ca), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("backend", ["rustls", "openssl"])
@pytest.mark.parametrize("name", SERVERS)
def test_resumption_goes_on_whether_a_server_renews_tickets_or_not(
    tmp_path: Path, name: str, backend: str
) -> None:
    with serving(tmp_path, name) as (port, ca):
        host = f"localhost:{port}"
        found = ran(ca, "--probe", host)["resumption"]
        options = ["--resume", "psk", "-c", "8", "-n", "400", "--backend", backend]
        record = ran(ca, *options, f"https://{host}/page")
    assert found["psk"]
    renews = found["tickets_resumed"] > 0
    assert renews == SERVERS[name][2], found
    kinds, outcomes = record["kinds"], record["outcomes"]
    assert outcomes["completed"] == kinds["resumed"] == 400, outcomes
    assert (record["preflight"]["sessions"]["resumed"] > 0) == renews
    assert (kinds["refill_connections"] == 0) == renews, kinds
    notes = [note for note in record["notes"] if "beside the load" in note]
    assert len(notes) == (0 if renews else 1)
