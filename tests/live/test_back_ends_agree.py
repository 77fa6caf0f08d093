"""Two back ends against the same nginx: the same facts, the same bytes from the server."""

import json
import subprocess
from typing import Any

import pytest

from live.harness import Own
from tlslab.servers.programs import require_program

COUNT = 20


def record(server: Own, backend: str, *offer: str) -> Any:
    command = [require_program("tlslab-load"), "--json", "-n", str(COUNT), "--backend", backend]
    command += [*offer, "--ca", str(server.ca), server.url]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize(
    ("version", "suite"),
    [("1.3", "TLS_AES_128_GCM_SHA256"), ("1.2", "ECDHE-RSA-AES128-GCM-SHA256")],
)
@pytest.mark.parametrize("group", ["X25519", "P-256"])
def test_both_receive_the_same(own_nginx: Own, version: str, suite: str, group: str) -> None:
    """Its certificate is RSA: all signatures have one length, so that no byte may differ."""
    offer = ["--tls", version, "--suite", suite, "--group", group]
    offer += ["--sigalg", "rsa_pss_rsae_sha256"]
    fast, complete = (record(own_nginx, backend, *offer) for backend in ("rustls", "openssl"))
    assert fast["facts"] == complete["facts"]
    assert fast["outcomes"]["completed"] == complete["outcomes"]["completed"] == COUNT
    assert fast["bytes"]["handshake_received"] == complete["bytes"]["handshake_received"]
    for name in ("head", "body"):
        assert fast["bytes"][name] == complete["bytes"][name]
