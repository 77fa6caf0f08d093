"""Private keys outside the process: a real token behind PKCS #11, real signing nodes."""

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa, utils

from live.hosts import lacking
from tlslab.domain.errors import CannotRunError
from tlslab.servers import namespaces
from tlslab.servers.certificates import Authority, CertificateFiles
from tlslab.servers.openbao import NodeApi
from tlslab.servers.process import runs
from tlslab.servers.programs import require_program
from tlslab.servers.signer import ClusterSetting, SigningCluster, signing_cluster
from tlslab.servers.softhsm import Pkcs11Token, make_token

MUTUAL = ("--handshake", "mutual", "--certificate", "rsa-2048")


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    folder = tmp_path_factory.mktemp("key")
    return Authority(folder).issue("rsa-2048", purpose="client")


@pytest.fixture(scope="module")
def token(key: CertificateFiles, tmp_path_factory: pytest.TempPathFactory) -> Pkcs11Token:
    return make_token(tmp_path_factory.mktemp("token"), key)


@pytest.fixture(scope="module")
def cluster(
    key: CertificateFiles, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SigningCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with signing_cluster(ClusterSetting(folder, key.key, weights=(30, 10))) as running:
        yield running


def load(
    *flags: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [require_program("tlslab-load"), "--in-memory", "--json", *MUTUAL, *flags],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **(environment or {})},
    )


def on(cluster: SigningCluster, *flags: str, timeout_ms: int = 1000) -> dict[str, Any]:
    """Handshakes with the key on the cluster."""
    reported = json.loads(cluster.description.read_text())
    description = cluster.description.with_name(f"signers-{timeout_ms}.json")
    description.write_text(json.dumps({**reported, "timeout_ms": timeout_ms}))
    allowed = (f"--allow={address}" for address in cluster.addresses)
    done = load("--signers", str(description), *allowed, *flags)
    assert done.returncode in (0, 1), done.stderr
    return dict(json.loads(done.stdout)["handshakes"])


def accounting(found: dict[str, Any]) -> dict[str, tuple[int, dict[str, int]]]:
    return {node["node"]: (node["signatures"], node["failed"]) for node in found["signatures"]}


@pytest.mark.capability("every handshake is signed in SoftHSM", only=("1.3",))
@pytest.mark.parametrize("tls", ["1.2", "1.3"])
def test_every_handshake_is_signed_in_the_token(token: Pkcs11Token, tls: str) -> None:
    flags = (*token.flags(), "--tls", tls, "-n", "20", "-t", "2")
    done = load(*flags, environment=dict(token.environment))
    assert (done.returncode, done.stderr) == (0, "")
    assert token.pin_file.read_text() not in done.stdout
    record = json.loads(done.stdout)
    found = record["handshakes"]
    assert found["outcomes"]["completed"] == 20
    assert found["facts"]["client_signature_scheme"] == "rsa_pss_rsae_sha256"
    assert accounting(found) == {"tlslab": (20, {})}
    assert found["summaries"]["signing"]["n"] == 20
    assert record["spec"]["key_away"]["side"] == "client"


def test_the_servers_key_can_be_in_the_token_too(token: Pkcs11Token) -> None:
    flags = ("--key-side", "server", "--sigalg", "rsa_pkcs1_sha256", "--tls", "1.2", "-n", "5")
    done = load(*token.flags(), *flags, environment=dict(token.environment))
    found = json.loads(done.stdout)["handshakes"]
    assert found["facts"]["signature_scheme"] == "rsa_pkcs1_sha256"
    assert accounting(found) == {"tlslab": (5, {})}


def test_what_is_wrong_with_a_token_is_one_line(token: Pkcs11Token, tmp_path: Path) -> None:
    wrong_pin = tmp_path / "pin"
    wrong_pin.write_text("0000")
    cases = [
        (replace(token, pin_file=wrong_pin), 3, "refuses the PIN"),
        (replace(token, token="other"), 3, "has no token 'other'; it has 'tlslab'"),
        (replace(token, key="other"), 3, "no private RSA key with the label 'other'"),
        (replace(token, module="/nowhere.so"), 3, "cannot load the PKCS #11 module"),
        (replace(token, pin_file=tmp_path / "none"), 2, "cannot read"),
    ]
    for changed, code, words in cases:
        done = load(*changed.flags(), "-n", "1", environment=dict(token.environment))
        assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
        assert words in done.stderr
    with pytest.raises(CannotRunError, match="refuses the PIN"):
        replace(token, pin_file=wrong_pin).check()


def test_a_key_of_another_kind_and_another_library_are_refused(token: Pkcs11Token) -> None:
    environment = dict(token.environment)
    done = load(*token.flags(), "--client-certificate", "rsa-3072", environment=environment)
    assert done.returncode == 2
    assert "of kind rsa-2048, and rsa-3072 was asked for" in done.stderr
    done = load(*token.flags(), "--backend", "openssl", environment=environment)
    assert done.returncode == 2
    assert "openssl has no key away from the process" in done.stderr


@pytest.mark.capability("a cluster of signing nodes signs by weights")
def test_nodes_sign_by_their_weights_and_each_is_accounted_for(cluster: SigningCluster) -> None:
    found = on(cluster, "-n", "40", "-t", "2")
    assert found["outcomes"]["completed"] == 40
    signed = {name: count for name, (count, _) in accounting(found).items()}
    # Each thread has its own round robin, and its first handshake is not counted.
    assert sum(signed.values()) == 40
    assert abs(signed["a"] - 30) <= 2
    assert all(len(node.process.tree()) == 1 for node in cluster.nodes)
    if namespaces.obstacle() is None:
        assert cluster.note == "each in a network namespace"


def test_a_signature_verifies_and_nothing_else_is_allowed(
    cluster: SigningCluster, key: CertificateFiles
) -> None:
    folder = cluster.description.parent
    authority = (folder / "authority.pem").read_text()
    private = serialization.load_pem_private_key(key.key.read_bytes(), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    digest = hashlib.sha256(b"message").digest()
    body = {"input": base64.b64encode(digest).decode(), "prehashed": True}
    for node in cluster.nodes:
        api = NodeApi(node.url, (folder / "token").read_text(), authority)
        asked = {**body, "signature_algorithm": "pkcs1v15"}
        answer = api.ask("POST", "transit/sign/client/sha2-256", asked)
        signature = base64.b64decode(answer["data"]["signature"].rpartition(":")[2])
        private.public_key().verify(
            signature, digest, padding.PKCS1v15(), utils.Prehashed(hashes.SHA256())
        )
        for path in ("transit/keys/client", "sys/mounts"):
            with pytest.raises(CannotRunError, match="403"):
                api.ask("GET", path)


def test_a_frozen_node_costs_the_handshakes_that_fall_to_it(cluster: SigningCluster) -> None:
    frozen = cluster.nodes[1]
    frozen.slow(0)
    try:
        # The first handshake, which is not counted, uses the other node.
        found = on(cluster, "-n", "8")
    finally:
        frozen.restore()
    assert accounting(found) == {"a": (6, {}), "b": (0, {"signing_timeout": 2})}
    assert found["outcomes"]["failed"] == {"signing_timeout": 2}
    assert "b: " in found["first_failure"]
    assert on(cluster, "-n", "8")["outcomes"]["completed"] == 8


def test_a_killed_node_costs_the_handshakes_that_fall_to_it(
    key: CertificateFiles, tmp_path: Path
) -> None:
    with signing_cluster(ClusterSetting(tmp_path, key.key, isolated=False)) as own:
        assert own.note == "loopback: network namespaces were not asked for"
        own.nodes[1].kill()
        found = on(own, "-n", "10")
        assert accounting(found) == {"a": (5, {}), "b": (0, {"signing_unreachable": 5})}
        assert found["outcomes"]["completed"] == 5
        survivors = own.nodes[0].process.tree()
    assert not any(runs(process) for process in survivors)


def test_addresses_are_asked_with_leave_only(cluster: SigningCluster) -> None:
    if lacking() is not None:
        pytest.skip("nodes are on loopback here")
    done = load("--signers", str(cluster.description), "-n", "1")
    assert done.returncode == 2
    assert "only loopback addresses and hosts that you list" in done.stderr


LAB = """
import sys, time
from pathlib import Path
from tlslab.servers.signer import ClusterSetting, signing_cluster
with signing_cluster(ClusterSetting(Path(sys.argv[1]), Path(sys.argv[2]))) as cluster:
    print(*(node.process.pid for node in cluster.nodes), flush=True)
    time.sleep(60)
"""


def test_a_killed_lab_leaves_nothing_behind(key: CertificateFiles, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LAB, str(tmp_path), str(key.key)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        nodes = [psutil.Process(int(pid)) for pid in lab.stdout.readline().split()]
        assert len(nodes) == 2
        lab.send_signal(signal.SIGKILL)
        lab.wait()
    _, left = psutil.wait_procs(nodes, timeout=10)
    assert not any(runs(process) for process in left)
    if namespaces.obstacle() is None:
        assert namespaces.remove_forsaken() >= 2
        assert namespaces.remove_forsaken() == 0
