"""Node.js as a target negotiates the requested settings, over HTTP/2 and HTTP/1.1."""

import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from live.served import Served, served
from tlslab.domain.errors import CannotRunError
from tlslab.domain.levels import NO_LEVELS, Levels
from tlslab.domain.names import SUITES
from tlslab.servers.base import Setting
from tlslab.servers.node import Node
from tlslab.servers.process import runs

GROUPS = ("X25519", "P-256", "P-384", "X25519MLKEM768")
RSA_SUITES = [suite.name for suite in SUITES if suite.tls == "1.2" and "ECDSA" not in suite.name]


LEVELS = Levels.of(workers="2", dh_bits="2048")


def setting(folder: Path) -> Setting:
    return Setting(folder, ("ecdsa-p256", "rsa-2048"), GROUPS, 4096, (), http2=True, levels=LEVELS)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("node")
    with served(Node(setting(folder)), folder) as server:
        yield server


def test_it_is_described_with_its_library(node: Served) -> None:
    assert node.target.software.startswith("node/")
    assert node.target.backend.startswith("OpenSSL ")
    # Both workers and their primary process are accounted for.
    assert len(node.running.process.tree()) == 3


def test_what_its_library_lacks_is_reported_in_its_words(node: Served) -> None:
    assert set(node.lacking) <= {("group", "X25519MLKEM768")}
    for reason in node.lacking.values():
        assert "Failed to set ECDH curve" in reason


@pytest.mark.parametrize("suite", RSA_SUITES)
def test_each_suite_of_the_study_is_negotiated_over_http2(node: Served, suite: str) -> None:
    facts = node.facts(
        "--http", "2", "--tls", "1.2", "--suite", suite, "--sigalg", "rsa_pkcs1_sha256"
    )
    assert (facts["suite"], facts["alpn"]) == (suite, "h2")


@pytest.mark.capability("Node.js serves both certificates over HTTP/1.1 and HTTP/2")
@pytest.mark.parametrize("http", ["1.1", "2"])
@pytest.mark.parametrize("scheme", ["ecdsa_secp256r1_sha256", "rsa_pss_rsae_sha256"])
def test_both_certificates_are_served(node: Served, http: str, scheme: str) -> None:
    facts = node.facts("--http", http, "--tls", "1.3", "--group", "P-384", "--sigalg", scheme)
    assert (facts["group"], facts["signature_scheme"]) == ("P-384", scheme)
    assert (facts["kind"], facts["hello_retry_request"]) == ("full", False)


@pytest.mark.parametrize("bits", [1024, 2048, 3072, 4096])
def test_diffie_hellman_parameters_have_the_size_asked_for(tmp_path: Path, bits: int) -> None:
    one = replace(setting(tmp_path), keys=("rsa-2048",), levels=Levels.of(dh_bits=str(bits)))
    with served(Node(one), tmp_path) as server:
        obsolete = ["--allow-obsolete"] if bits < 2048 else []
        suite = "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"
        facts = server.facts("--tls", "1.2", "--suite", suite, *obsolete)
        assert facts["group"] == f"DH-{bits}"
        assert len(server.running.process.tree()) == 1


@pytest.mark.parametrize(
    ("resume", "tls"), [("id", "1.2"), ("ticket", "1.2"), ("psk", "1.3"), ("none", "1.2")]
)
def test_sessions_are_resumed_only_where_that_is_asked_for(
    tmp_path: Path, resume: str, tls: str
) -> None:
    levels = NO_LEVELS if resume == "id" else LEVELS
    with served(Node(replace(setting(tmp_path), resume=resume, levels=levels)), tmp_path) as node:
        if resume == "none":
            code, answer = node.load("--tls", tls, "--resume", "ticket")
            assert code != 0, answer
        else:
            assert node.facts("--tls", tls, "--resume", resume)["resumed_by"] == resume


def test_without_tls_it_serves_behind_a_front(tmp_path: Path) -> None:
    plain = Node(replace(setting(tmp_path), plain=True, http2=False, levels=NO_LEVELS))
    with (
        served(plain, tmp_path) as node,
        urllib.request.urlopen(node.running.url, timeout=20) as answer,
    ):
        assert (answer.status, len(answer.read())) == (200, 4096)


def test_the_workers_end_with_their_primary(tmp_path: Path) -> None:
    target = Node(setting(tmp_path))
    target.prepare()
    running = target.start()
    family = running.process.tree()
    os.kill(running.process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while any(runs(process) for process in family[1:]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(runs(process) for process in family[1:])
    running.stop()


def children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


def test_a_refused_configuration_is_reported_in_nodes_words(tmp_path: Path) -> None:
    target = Node(setting(tmp_path))
    target.prepare()
    (tmp_path / "rsa-2048.key").write_text("no key at all")
    before = children()
    with pytest.raises(
        CannotRunError, match=r"Node\.js gave no sign of 'ready': .*DECODER routines"
    ):
        target.start()
    _, still_running = psutil.wait_procs(children() - before, timeout=10)
    assert not still_running


def test_a_node_that_does_not_start_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\necho 'libnode.so: cannot open' >&2; exit 127\n")
    program.chmod(0o755)
    with pytest.raises(CannotRunError, match=r"ended with 127: libnode\.so: cannot open"):
        Node(setting(tmp_path), str(program))
