"""Caddy: a server that selects sites by name, and that takes `acme-tls/1` for a challenge."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.harness import Tlslab
from tlslab.servers.configured import free_port

CADDYFILE = """\
{{
    admin off
    auto_https disable_redirects
    skip_install_trust
    storage file_system {folder}/storage
}}
https://localhost:{port} {{
    tls {folder}/certificate.pem {folder}/key.pem
    respond "hello"
}}
"""


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """The port of a Caddy with the certificate of `openssl req -x509`, a CA certificate."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-subj", "/CN=localhost"]
    make += ["-pkeyopt", "ec_paramgen_curve:P-256", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(
        [*make, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    number = free_port()
    config = tmp_path / "Caddyfile"
    config.write_text(CADDYFILE.format(folder=tmp_path, port=number))
    folders = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    command = ["caddy", "run", "--config", str(config), "--adapter", "caddyfile"]
    with (tmp_path / "caddy.log").open("w") as log:
        server = subprocess.Popen(command, env={**os.environ, **folders}, stdout=log, stderr=log)
    try:
        wait_for(server, number)
        yield number
    finally:
        server.terminate()
        server.wait(timeout=20)


def wait_for(server: "subprocess.Popen[bytes]", port: int) -> None:
    """Waits until the server accepts connections."""
    deadline = time.monotonic() + 20
    while not answers(port):
        assert server.poll() is None, "Caddy does not start"
        assert time.monotonic() < deadline, "Caddy takes no connections"
        time.sleep(0.05)


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def probe(tlslab: Tlslab, port: int, *options: str) -> str:
    ended = tlslab.run("probe", f"127.0.0.1:{port}", *options)
    assert ended.code == 0, ended.err
    return ended.out


def test_an_unusual_protocol_hides_none_of_the_others(
    tlslab: Tlslab, tmp_path: Path, port: int
) -> None:
    ca = str(tmp_path / "certificate.pem")
    said = probe(tlslab, port, "--sni", "localhost", "--ca", ca)
    rows = {line[:26].strip(): line[26:].strip() for line in said.splitlines()}
    assert rows["ALPN"] == "h2, http/1.1"
    assert rows["acme-tls/1"].startswith("not known: the server answered ")
    assert rows["trusted"] == "yes"


def test_a_site_that_goes_by_its_name_is_hinted_at(
    tlslab: Tlslab, tmp_path: Path, port: int
) -> None:
    said = probe(tlslab, port, "--insecure")
    assert "hint" in said
    assert "--sni NAME" in said
    ca = str(tmp_path / "certificate.pem")
    load = ["load", "-n", "8", "--ca", ca, f"https://127.0.0.1:{port}/"]
    refused = tlslab.run(*load)
    assert refused.code == 3
    assert "--sni NAME" in refused.err
    for backend in ("rustls", "openssl"):
        ended = tlslab.run(*load, "--sni", "localhost", "--backend", backend)
        assert ended.code == 0, ended.err
