"""The servers that the lab starts: settings that they negotiate, serve and reject; their end."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from live.harness import setting
from tlslab.domain.deployment import Deployment
from tlslab.domain.errors import CannotRunError
from tlslab.domain.levels import Levels
from tlslab.domain.names import ECDSA_SCHEMES, RSA_SCHEMES
from tlslab.lab.metering.meter import read
from tlslab.lab.metering.processes import used
from tlslab.servers import Running, Setting, Target, build, configured
from tlslab.servers.process import runs
from tlslab.servers.programs import require_program

SERVERS = ("nginx", "apache", "haproxy")
DOCUMENT_BYTES = 4096
GROUPS = ("X25519", "P-256", "P-384", "P-521", "X448", "ffdhe2048")
RSA = [f"--sigalg={scheme}" for scheme in RSA_SCHEMES]
ECDSA = [f"--sigalg={scheme}" for scheme in ECDSA_SCHEMES]

# Offered settings, and the required outcome.
HANDSHAKES: tuple[tuple[list[str], dict[str, str]], ...] = (
    *(
        (["--tls=1.3", f"--group={group}", "--http=2"], {"group": group, "alpn": "h2"})
        for group in GROUPS
    ),
    (["--tls=1.3", *RSA], {"tls": "1.3", "signature_scheme": "rsa_pss_rsae_sha256"}),
    (["--tls=1.3", *ECDSA], {"tls": "1.3", "signature_scheme": "ecdsa_secp256r1_sha256"}),
    *(
        (["--tls=1.3", f"--suite={suite}"], {"suite": suite})
        for suite in ("TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256")
    ),
    *(
        (["--tls=1.2", f"--suite={suite}", f"--http={http}"], {"suite": suite, "alpn": alpn})
        for suite, http, alpn in (
            ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "2", "h2"),
            ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "2", "h2"),
            ("TLS_DHE_RSA_WITH_AES_256_CCM", "2", "h2"),
            ("TLS_RSA_WITH_AES_128_CBC_SHA", "1.1", "http/1.1"),
        )
    ),
)


@dataclass(frozen=True)
class Started:
    target: Target
    running: Running
    ca: Path

    def load(self, *flags: str) -> dict[str, Any]:
        """The record of 8 connections, two at once, each with two requests."""
        command = [require_program("tlslab-load"), "--json", "-n8", "-c2", f"--ca={self.ca}"]
        command += ["--requests-per-connection=2", "--check-body=hash", "--sni=localhost", *flags]
        ended = subprocess.run(
            [*command, self.running.url], capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.returncode in (0, 1), f"{flags}: {ended.stderr}"
        record: dict[str, Any] = json.loads(ended.stdout)
        return record


def wanted(folder: Path, **changes: Any) -> Setting:
    keys: tuple[str, ...] = ("ecdsa-p256", "rsa-2048")
    made = replace(setting(folder, *keys), groups=GROUPS, document_bytes=DOCUMENT_BYTES)
    return replace(made, **({"http2": True} | changes))


@contextmanager
def started(deployment: Deployment, asked: Setting) -> Iterator[Started]:
    target = build(deployment, asked)
    assert target.prepare() == {}
    ca = asked.folder / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    try:
        yield Started(target, running, ca)
    finally:
        running.stop()


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Started]:
    """Each server with two workers, certificates of both kinds, and 2048-bit parameters."""
    deployment = Deployment(request.param, levels=Levels.of(workers="2", dh_bits="2048"))
    with started(deployment, wanted(tmp_path_factory.mktemp("s"), processors=(0,))) as found:
        yield found


def served_in_full(record: dict[str, Any]) -> bool:
    outcomes = record["outcomes"]
    counts = (outcomes["completed"], outcomes["failed"], outcomes["unexpected"])
    return counts == (8, {}, {}) and record["bytes"]["body"] == 16 * DOCUMENT_BYTES


@pytest.mark.capability("nginx, Apache and HAProxy negotiate what is offered")
def test_what_is_offered_is_what_is_negotiated(server: Started) -> None:
    for flags, expected in HANDSHAKES:
        record = server.load(*flags)
        assert served_in_full(record), flags
        for fact in record["facts"]:
            assert fact["kind"] == "full"
            assert expected.items() <= fact.items(), flags


def test_all_processes_are_there_pinned_and_accounted_for(server: Started) -> None:
    tree = server.running.process.tree()
    multithreaded = server.target.name == "haproxy"
    assert len(tree) == (1 if multithreaded else 3)
    assert {tuple(process.cpu_affinity()) for process in tree} == {(0,)}
    if multithreaded:
        assert tree[0].num_threads() == 2
    before = read(process.pid for process in tree)
    assert served_in_full(server.load("--tls=1.3"))
    after = read(process.pid for process in server.running.process.tree())
    assert before.processes.keys() == after.processes.keys()
    spent = [sum(used(before.processes[pid], after.processes[pid])) for pid in before.processes]
    assert sum(spent) > 0


@pytest.mark.capability("nginx, Apache and HAProxy resume nothing unasked")
def test_no_session_can_be_resumed(server: Started) -> None:
    """No ticket comes with TLS 1.3, and no ticket or session ID resumes a session in TLS 1.2."""
    probe = [require_program("tlslab-load"), f"--probe={server.running.url.split('/')[2]}"]
    flags = ["--probe-only=resumption", "--json", "--insecure", "--sni=localhost"]
    ended = subprocess.run([*probe, *flags], capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(ended.stdout)["resumption"]
    assert not any(found[name] for name in ("session_id", "ticket", "psk", "tickets"))


@pytest.mark.parametrize("bits", [1024, 4096])
@pytest.mark.parametrize("name", SERVERS)
def test_diffie_hellman_has_the_size_that_was_asked_for(
    name: str, bits: int, tmp_path: Path
) -> None:
    with started(
        Deployment(name, levels=Levels.of(dh_bits=str(bits))), wanted(tmp_path, groups=())
    ) as found:
        suite = "--suite=TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"
        record = found.load("--tls=1.2", suite, "--allow-obsolete")
        assert served_in_full(record)
        assert {fact["group"] for fact in record["facts"]} == {f"DH-{bits}"}


@pytest.mark.parametrize("name", SERVERS)
def test_a_configuration_that_is_refused_is_reported_in_the_servers_words(
    name: str, tmp_path: Path
) -> None:
    before = psutil.Process().children(recursive=True)
    target = build(Deployment(name), wanted(tmp_path, suites=("TLS_MADE_WITH_UP",)))
    with pytest.raises(CannotRunError, match=r"refuses its configuration: .*(?i:cipher)") as caught:
        target.prepare()
    assert "\n" not in caught.value.message
    assert psutil.Process().children(recursive=True) == before


@pytest.mark.parametrize("name", SERVERS)
def test_a_group_that_the_library_lacks_is_left_out_in_the_servers_words(
    name: str, tmp_path: Path
) -> None:
    target = build(Deployment(name), wanted(tmp_path, groups=("X25519", "MLKEM768")))
    lacking = target.prepare()
    assert lacking.keys() == {("group", "MLKEM768")}
    assert "'MLKEM768'" in lacking["group", "MLKEM768"]
    running = target.start()
    running.stop()


@pytest.mark.parametrize("name", SERVERS)
def test_a_port_that_is_taken_is_exchanged_for_another(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = build(Deployment(name), wanted(tmp_path))
    target.prepare()
    free, given = configured.free_port, list[int]()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        def first_taken(address: str) -> int:
            given.append(free(address) if given else int(taken.getsockname()[1]))
            return given[-1]

        monkeypatch.setattr(configured, "free_port", first_taken)
        running = target.start()
        running.stop()
    assert len(given) == 2
    assert running.url == f"https://127.0.0.1:{given[1]}/document"


LAB = """
import sys, time
from pathlib import Path
from tlslab.domain.deployment import Deployment
from tlslab.domain.levels import Levels
from tlslab.servers import Setting, build
workers = Levels.of(workers="2")
asked = Setting(Path(sys.argv[1]), ("ecdsa-p256",), ("X25519",), 100, (), levels=workers)
target = build(Deployment(sys.argv[2], front=sys.argv[3]), asked)
target.prepare()
print(*[process.pid for process in target.start().process.tree()], flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("name", "front"), [("nginx", "none"), ("apache", "none"), ("apache", "haproxy")]
)
def test_nothing_outlives_a_lab_that_was_killed(name: str, front: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LAB, str(tmp_path), name, front]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        processes = [psutil.Process(int(pid)) for pid in lab.stdout.readline().split()]
        assert len(processes) == (3 if front == "none" else 4)
        lab.kill()
    deadline = time.monotonic() + 20
    while any(runs(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [process for process in processes if runs(process)]


@pytest.mark.parametrize(
    ("name", "front"),
    [
        ("nginx", "haproxy"),
        ("apache", "nginx"),
        ("haproxy", "nginx"),
        ("nginx", "apache"),
        ("reference", "haproxy"),
    ],
)
def test_a_front_terminates_tls_and_passes_on(name: str, front: str, tmp_path: Path) -> None:
    """The reference server has no plain HTTP: the front encrypts requests to it again."""
    with started(Deployment(name, front=front), wanted(tmp_path)) as found:
        tree = found.running.process.tree()
        names = {process.name() for process in tree}
        assert len(names) == (1 if name == front else 2)
        before = read(process.pid for process in tree)
        for flags in (["--http=2", "--group=X448"], ["--http=1.1", "--group=P-384"]):
            record = found.load("--tls=1.3", *flags)
            assert served_in_full(record)
            assert {fact["group"] for fact in record["facts"]} == {flags[1].split("=")[1]}
        after = read(before.processes)
        for server in found.running.process.servers:  # type: ignore[attr-defined]
            pids = {process.pid for process in server.tree()}
            assert sum(sum(used(before.processes[pid], after.processes[pid])) for pid in pids) > 0


@pytest.mark.parametrize("front", ["haproxy-tcp:2", "haproxy:2"])
def test_a_front_gives_each_of_two_servers_its_share(front: str, tmp_path: Path) -> None:
    with started(Deployment("nginx", front=front), wanted(tmp_path)) as found:
        balancer, *servers = found.running.process.servers  # type: ignore[attr-defined]
        assert {process.name() for process in balancer.tree()} == {"haproxy"}
        before = read(process.pid for process in found.running.process.tree())
        record = found.load("--tls=1.3", "--group=P-384")
        assert served_in_full(record)
        assert {fact["group"] for fact in record["facts"]} == {"P-384"}
        after = read(before.processes)
        for server in (balancer, *servers):
            pids = {process.pid for process in server.tree()}
            assert sum(sum(used(before.processes[pid], after.processes[pid])) for pid in pids) > 0
        assert len(servers) == 2


def test_the_death_of_the_server_behind_is_the_death_of_the_target(tmp_path: Path) -> None:
    with started(Deployment("haproxy", front="nginx"), wanted(tmp_path)) as found:
        tree = found.running.process.tree()
        behind = next(process for process in tree if process.name() == "haproxy")
        behind.kill()
        deadline = time.monotonic() + 10
        while found.running.process.alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not found.running.process.alive()
        assert found.running.process.tree() == []
    assert not any(runs(process) for process in tree)


def test_haproxy_serves_a_document_that_is_larger_than_its_usual_buffer(tmp_path: Path) -> None:
    asked = wanted(tmp_path, document_bytes=100_000)
    with started(Deployment("haproxy"), asked) as found:
        for http in ("1.1", "2"):
            record = found.load("--tls=1.3", f"--http={http}")
            assert record["bytes"]["body"] == 16 * 100_000
    with pytest.raises(CannotRunError, match="documents of 1048576 bytes at most"):
        build(Deployment("haproxy"), wanted(tmp_path, document_bytes=2 << 20)).prepare()


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("key", ["ecdsa-p384", "ed25519"])
def test_certificates_of_other_keys_are_served(name: str, key: str, tmp_path: Path) -> None:
    asked = replace(wanted(tmp_path), keys=(key,))
    with started(Deployment(name), asked) as found:
        assert served_in_full(found.load("--tls=1.3"))
