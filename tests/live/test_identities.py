"""Client certificates, server names, protocols and obsolete versions against a real nginx."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tlslab.servers.certificates import Authority, CertificateFiles
from tlslab.servers.nginx import find_nginx
from tlslab.servers.process import ServerProcess, wait_until
from tlslab.servers.programs import require_program

START_S = 20.0

CONFIG = """\
daemon off;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {files.certificate};
        ssl_certificate_key {files.key};
        ssl_session_tickets off;
        ssl_protocols {protocols};
        {settings}
        location / {{ return 200 "$ssl_client_verify $ssl_server_name"; }}
    }}
}}
"""

Serve = Callable[..., int]
Load = Callable[..., dict[str, Any]]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def server_files(authority: Authority) -> CertificateFiles:
    return authority.issue("ecdsa-p256")


@pytest.fixture
def serve(tmp_path: Path, server_files: CertificateFiles) -> Iterator[Serve]:
    """Starts nginx with further settings; its port."""
    started: list[ServerProcess] = []

    def start(settings: str, protocols: str = "TLSv1.2 TLSv1.3") -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        text = CONFIG.format(
            folder=tmp_path, port=port, files=server_files, settings=settings, protocols=protocols
        )
        (tmp_path / "nginx.conf").write_text(text, "utf-8")
        command = [find_nginx() or "nginx", "-e", "stderr", "-p", str(tmp_path)]
        process = ServerProcess([*command, "-c", str(tmp_path / "nginx.conf")], tmp_path / "log")
        started.append(process)
        assert wait_until(partial(_answers, port), process, START_S), process.last_words()
        return port

    yield start
    for process in started:
        process.stop()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


@pytest.fixture
def load(tmp_path: Path, authority: Authority) -> Load:
    """Makes eight connections; the program's JSON output, with its exit code as `code`."""

    def run(port: int, *arguments: str) -> dict[str, Any]:
        (tmp_path / "ca.pem").write_text(authority.trust_pem, "ascii")
        program = require_program("tlslab-load")
        command = [program, "--json", "-n", "8", "-c", "2", "--ca", str(tmp_path / "ca.pem")]
        ended = subprocess.run(
            [*command, *arguments, f"https://127.0.0.1:{port}/"],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        said: dict[str, Any] = json.loads(ended.stdout)
        return said | {"code": ended.returncode}

    return run


# Servers that require a client certificate and refuse a client after its Finished.
HAPROXY = """\
defaults
    mode http
    timeout client 5s
    timeout server 5s
    timeout connect 5s
frontend tls
    bind 127.0.0.1:{port} ssl crt {both} ca-file {trust} verify required
    http-request return status 200
"""
NODE = """\
const https = require("https"), fs = require("fs");
const read = (file) => fs.readFileSync(file);
const [cert, key, ca] = [read("{files.certificate}"), read("{files.key}"), read("{trust}")];
https.createServer({{ cert, key, ca, requestCert: true, rejectUnauthorized: true }},
    (_, answer) => answer.end()).listen({port}, "127.0.0.1");
"""
PYTHON = """\
import socket, ssl, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("{files.certificate}", "{files.key}")
context.load_verify_locations("{trust}")
context.verify_mode = ssl.CERT_REQUIRED
def serve(accepted):
    with accepted, context.wrap_socket(accepted, server_side=True) as stream:
        while stream.recv(4096):
            pass
with socket.create_server(("127.0.0.1", {port})) as listener:
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],)).start()
"""


def _refusing(
    name: str, folder: Path, port: int, files: CertificateFiles, trust: Path
) -> list[str]:
    """The command of such a server, whose configuration is written into the folder."""
    both = folder / "both.pem"
    both.write_text(files.certificate.read_text("ascii") + files.key.read_text("ascii"), "ascii")
    if name == "s_server":
        flags = ["-cert", str(both), "-CAfile", str(trust), "-quiet", "-www"]
        return [require_program("openssl"), "s_server", "-accept", f"127.0.0.1:{port}", *flags,
                "-Verify", "1", "-verify_return_error"]  # fmt: skip
    text = {"haproxy": HAPROXY, "node": NODE, "python": PYTHON}[name]
    script = folder / f"{name}.conf"
    script.write_text(text.format(port=port, both=both, trust=trust, files=files), "utf-8")
    if name == "haproxy":
        return [require_program("haproxy"), "-db", "-f", str(script)]
    return [sys.executable if name == "python" else require_program("node"), str(script)]


@pytest.mark.parametrize("name", ["haproxy", "node", "python", "s_server"])
def test_a_handshake_alone_counts_if_the_server_has_accepted_the_client(
    name: str,
    tmp_path: Path,
    server_files: CertificateFiles,
    load: Load,
    client: tuple[CertificateFiles, Path],
) -> None:
    files, trust = client
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = _refusing(name, tmp_path, port, server_files, trust)
    process = ServerProcess(command, tmp_path / "log")
    try:
        assert wait_until(partial(_answers, port), process, START_S), process.last_words()
        only = ("--tls", "1.3", "--handshake-only")
        for flags in (("--backend=rustls",), ("--backend=openssl",), ("--group=X25519",)):
            refused = load(port, *only, *flags)
            assert (refused["class"], refused["code"]) == ("alert_certificate_required", 3)
        for backend in ("rustls", "openssl"):
            record = load(port, *only, "--backend", backend, *_shown(files))
            assert record["outcomes"]["completed"] == 8, record["outcomes"]
            # Python's ssl answers a close_notify by the end of the TCP stream alone.
            by = "ticket" if name == "python" else "close_notify"
            assert record["confirmed_by"][by] == 8, record["confirmed_by"]
    finally:
        process.stop()


def _shown(files: CertificateFiles) -> list[str]:
    return ["--client-cert", str(files.certificate), "--client-key", str(files.key)]


@pytest.fixture
def client(tmp_path: Path) -> tuple[CertificateFiles, Path]:
    """A client's certificate, and the file with the authority to trust for it."""
    folder = tmp_path / "client"
    folder.mkdir()
    authority = Authority(folder)
    files = authority.issue("ecdsa-p384", purpose="client")
    trust = folder / "trust.pem"
    trust.write_text(authority.trust_pem, "ascii")
    return files, trust


@pytest.mark.capability("mutual authentication on every connection", only=("1.3-rustls",))
@pytest.mark.parametrize("backend", ["rustls", "openssl"])
@pytest.mark.parametrize("tls", ["1.2", "1.3"])
def test_nginx_takes_the_client_certificate_on_every_connection(
    serve: Serve, load: Load, client: tuple[CertificateFiles, Path], backend: str, tls: str
) -> None:
    files, trust = client
    port = serve(f"ssl_verify_client on; ssl_client_certificate {trust};")
    record = load(port, "--backend", backend, "--tls", tls, *_shown(files))
    assert record["outcomes"]["completed"] == 8
    assert [fact["client_authenticated"] for fact in record["facts"]] == [True]
    assert record["client_certificate"]["key"] == "ECDSA P-384"
    # $ssl_client_verify, and no name: SNI never carries an address.
    assert record["bytes"]["body"] == 8 * len("SUCCESS ")
    refused = load(port, "--backend", backend, "--tls", tls)
    # nginx completes the handshake and answers 400: the rejection is one of HTTP.
    assert (refused["class"], refused["code"]) == ("http_status", 3)


@pytest.mark.parametrize("backend", ["rustls", "openssl"])
def test_nginx_that_does_not_ask_is_reported(
    serve: Serve, load: Load, client: tuple[CertificateFiles, Path], backend: str
) -> None:
    said = load(serve(""), "--backend", backend, *_shown(client[0]))
    assert (said["class"], said["code"]) == ("unexpected_client_certificate", 3)


@pytest.mark.parametrize("backend", ["rustls", "openssl"])
def test_nginx_sees_the_names_and_the_protocol(serve: Serve, load: Load, backend: str) -> None:
    port = serve("")
    record = load(port, "--backend", backend, "--sni", "localhost", "--alpn", "http/1.1")
    assert record["bytes"]["body"] == 8 * len("NONE localhost")
    assert record["facts"][0]["alpn"] == "http/1.1"
    assert record["server_names"] == []
    record = load(port, "--backend", backend, "--alpn", "none", "--sni", "localhost")
    assert record["facts"][0]["alpn"] == "none"
    said = load(port, "--backend", backend, "--sni", "localhost", "--sni", "other.test")
    assert (said["class"], said["code"]) == ("certificate", 3)
    assert "as other.test" in said["message"]


def test_nginx_speaks_the_versions_of_old_to_those_who_allow_them(serve: Serve, load: Load) -> None:
    port = serve("ssl_ciphers ALL:@SECLEVEL=0;", protocols="TLSv1 TLSv1.1")
    for version in ("1.0", "1.1"):
        record = load(port, "--allow-obsolete", "--tls", version)
        assert record["outcomes"]["completed"] == 8
        (facts,) = record["facts"]
        assert (facts["tls"], facts["signature_scheme"]) == (version, "ecdsa_sha1")
        assert f"TLS version {version}" in record["notes"][0]
        said = load(port, "--tls", version)
        assert (said["class"], said["code"]) == ("usage", 2)
