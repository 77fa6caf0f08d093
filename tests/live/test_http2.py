"""HTTP/2 with servers of other authors: nginx and Node.js."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from live.harness import Own, setting
from tlslab.servers import Nginx
from tlslab.servers.certificates import Authority
from tlslab.servers.programs import require_program

# Answers every request with the number of bytes in its path; prints the address to standard output.
NODE = """
const http2 = require('http2'), fs = require('fs');
const server = http2.createSecureServer({
  cert: fs.readFileSync(process.argv[1]), key: fs.readFileSync(process.argv[2]),
  settings: { maxConcurrentStreams: 7 },
});
server.on('stream', (stream, headers) => {
  stream.respond({ ':status': 200, 'content-type': 'application/octet-stream' });
  stream.end(Buffer.alloc(Number(headers[':path'].slice(1)), 'x'));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"""

# By default nginx ends a connection by GOAWAY after 1,000 requests; the lab's nginx does not.
NGINX_REQUESTS = 1000


class Leaving(Nginx):
    """An nginx that ends its connections as by default."""

    def _configure(self, *arguments: Any) -> Path:
        config = super()._configure(*arguments)
        text = config.read_text("utf-8")
        config.write_text(
            re.sub(r"keepalive_requests \d+", "keepalive_requests 1000", text), "utf-8"
        )
        return config


def load(ca: Path, url: str, *arguments: str) -> dict[str, Any]:
    """The record of a run; its verdicts are ignored."""
    command = [require_program("tlslab-load"), "--json", "--ca", str(ca), "-c", "4", *arguments]
    ended = subprocess.run([*command, url], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    record: dict[str, Any] = json.loads(ended.stdout)
    return record


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[Own]:
    """An nginx that speaks both versions of HTTP."""
    target = Leaving(replace(setting(tmp_path, "ecdsa-p256"), http2=True))
    target.prepare()
    ca = tmp_path / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    yield Own(running, ca)
    running.stop()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server on Node.js: its address, and the authority to trust."""
    authority = Authority(tmp_path)
    files = authority.issue("ecdsa-p256")
    ca = tmp_path / "ca.pem"
    ca.write_text(authority.trust_pem)
    command = ["node", "-e", NODE, str(files.certificate), str(files.key)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"https://127.0.0.1:{server.stdout.readline().strip()}", ca
        server.terminate()


@pytest.mark.capability("HTTP/2 with several streams", only=("rustls",))
@pytest.mark.parametrize("backend", ["rustls", "openssl"])
def test_nginx_answers_several_streams_and_says_when_to_leave(nginx: Own, backend: str) -> None:
    unlimited = ["--requests-per-connection", "unlimited", "--streams", "10"]
    flags = ["--http", "2", "-d", "1s", "--backend", backend, "--check-body", "hash", *unlimited]
    record = load(nginx.ca, nginx.url, *flags)
    outcomes = record["outcomes"]
    assert (outcomes["failed"], outcomes["unexpected"]) == ({}, {})
    assert record["preflight"]["facts"]["alpn"] == "h2"
    assert record["bytes"]["body"] == 100 * record["requests"]
    # Every connection carried the maximum of nginx; those at the start and end were cut.
    whole = NGINX_REQUESTS * outcomes["completed"]
    assert abs(record["requests"] - whole) <= 4 * NGINX_REQUESTS


def test_http_1_1_is_still_spoken_with_a_server_of_both(nginx: Own) -> None:
    record = load(nginx.ca, nginx.url, "-n", "8", "--check-body", "length")
    assert record["outcomes"]["completed"] == 8
    assert {fact["alpn"] for fact in record["facts"]} == {"http/1.1"}


@pytest.mark.parametrize("backend", ["rustls", "openssl"])
def test_node_answers_as_many_streams_as_it_allows(node: tuple[str, Path], backend: str) -> None:
    address, ca = node
    flags = ["--http", "2", "-n", "8", "--requests-per-connection", "50", "--streams", "20"]
    check = ["--check-body", "hash", "--backend", backend]
    record = load(ca, f"{address}/200000", *flags, *check)
    assert (record["outcomes"]["completed"], record["outcomes"]["failed"]) == (8, {})
    assert (record["requests"], record["bytes"]["body"]) == (400, 400 * 200_000)
    assert len(record["preflight"]["body_sha256"]) == 64
