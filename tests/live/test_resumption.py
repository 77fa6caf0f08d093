"""Resumption on a real nginx, which counts the resumed connections itself."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from live.harness import SMALL, Tlslab, assert_finished, measured
from tlslab.servers import Nginx
from tlslab.servers.base import Setting
from tlslab.servers.programs import require_program

# Each request as one character: `r` on a resumed connection, `.` on another.
LOG = "log_format kind '$ssl_session_reused'; access_log {path} kind;"


class Counting(Nginx):
    """An nginx that logs how each connection started."""

    def _configure(self, *arguments: Any) -> Path:
        config = super()._configure(*arguments)
        log = LOG.format(path=config.parent / "kinds.log")
        config.write_text(config.read_text("utf-8").replace("access_log off;", log), "utf-8")
        return config


@contextmanager
def nginx(folder: Path, resume: str, document_bytes: int = 100) -> Iterator[tuple[str, Path]]:
    """A running nginx that lets clients resume in this way: its URL, and the authority to trust."""
    groups = ("X25519", "P-256")
    target = Counting(Setting(folder, ("ecdsa-p256",), groups, document_bytes, (), resume=resume))
    target.prepare()
    ca = folder / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    try:
        yield running.url, ca
    finally:
        running.stop()


def load(url: str, ca: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """One run of 60 connections, eight at once."""
    command = [require_program("tlslab-load"), "--json", "-c", "8", "-n", "60", "--ca", str(ca)]
    done = subprocess.run(
        [*command, "--sni", "localhost", *arguments, url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def counted(folder: Path) -> Counter[str]:
    return Counter((folder / "kinds.log").read_text().split())


def clients_of(record: dict[str, Any]) -> int:
    """The number of clients of a run: the library, and the minimal client if it took part."""
    return 1 + int(record["minimal_client"] > 0)


@pytest.mark.capability(
    "resumption: nginx resumes what the client resumes", only=("psk-rustls", "ticket-openssl")
)
@pytest.mark.parametrize("backend", ["rustls", "openssl"])
@pytest.mark.parametrize("resume", ["id", "ticket", "psk"])
def test_what_resumed_by_our_count_resumed_by_nginx_s(
    tmp_path: Path, backend: str, resume: str
) -> None:
    with nginx(tmp_path, resume) as (url, ca):
        arguments = ("--backend", backend, "--resume", resume, "--resume-ratio", "0.6")
        _, record = load(url, ca, *arguments)
    kinds = record["kinds"]
    assert (kinds["resumed"], kinds["full"]) == (36, 24), record["outcomes"]
    assert {fact["resumed_by"] for fact in record["facts"]} == {resume, "none"}
    # The preflight makes one connection of each kind, by each client of the run.
    clients = clients_of(record)
    full = kinds["full"] + kinds["primed_connections"] + clients
    assert counted(tmp_path) == {"r": kinds["resumed"] + clients, ".": full}


@pytest.mark.parametrize("backend", ["rustls", "openssl"])
@pytest.mark.parametrize("resume", ["id", "ticket"])
def test_a_resumed_handshake_of_tls12_counts_although_nginx_sends_no_close_notify(
    tmp_path: Path, backend: str, resume: str
) -> None:
    with nginx(tmp_path, resume) as (url, ca):
        arguments = ("--backend", backend, "--resume", resume, "--handshake-only")
        _, record = load(url, ca, *arguments)
    assert record["outcomes"]["completed"] == 60, record["outcomes"]
    assert record["confirmed_by"]["server_finished"] == 60, record["confirmed_by"]


@pytest.mark.parametrize("backend", ["rustls", "openssl"])
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_nothing_resumes_unasked_where_wrk_would(
    tmp_path: Path, backend: str, version: str
) -> None:
    with nginx(tmp_path, "ticket") as (url, ca):
        _, record = load(url, ca, "--backend", backend, "--tls", version)
    assert record["kinds"]["full"] == record["outcomes"]["completed"] == 60
    assert counted(tmp_path) == {".": 60 + clients_of(record)}


def test_an_nginx_that_resumes_nothing_is_reported_before_the_load(tmp_path: Path) -> None:
    with nginx(tmp_path, "none") as (url, ca):
        code, answer = load(url, ca, "--resume", "ticket")
    assert (code, answer["class"]) == (3, "unexpected_kind")
    assert "gave nothing to resume by" in answer["message"]


@pytest.mark.parametrize("backend", ["rustls", "openssl"])
def test_nginx_is_made_to_ask_for_another_key_share(tmp_path: Path, backend: str) -> None:
    with nginx(tmp_path, "none") as (url, ca):
        _, record = load(url, ca, "--backend", backend, "--hello-retry", "--group", "P-256")
    facts = record["facts"]
    assert [(fact["hello_retry_request"], fact["count"]) for fact in facts] == [(True, 60)]
    assert facts[0]["group"] == "P-256"


@pytest.mark.parametrize("target", ["reference", "nginx"])
def test_an_experiment_can_resume_a_share_of_its_connections(
    tlslab: Tlslab, tmp_path: Path, target: str
) -> None:
    text = SMALL.format(blocks=1, measure_ms=300, connections=8, cost_ms=200)
    asked = 'resume = "psk"\nresume_ratio = 0.5\n'
    text = text.replace("\n[workload.capacity]", asked + "\n[workload.capacity]", 1)
    (tmp_path / "small.toml").write_text(text, "utf-8")
    ended = tlslab.run("run", "small.toml", "--target", target, "--out", "r")
    assert_finished(ended, tmp_path / "r")
    for _, run in measured(tmp_path / "r"):
        record = run["record"]
        kinds = record["kinds"]
        completed = record["outcomes"]["completed"]
        assert abs(kinds["resumed"] - completed / 2) <= 2 * record["spec"]["connections"]
        assert {fact["kind"] for fact in record["facts"]} == {"full", "resumed"}


@pytest.mark.parametrize("resume", ["id", "ticket"])
def test_sessions_of_tls12_are_collected_for_1_to_1000_connections_with_a_long_page(
    tmp_path: Path, resume: str
) -> None:
    with nginx(tmp_path, resume, document_bytes=20_000) as (url, ca):
        for connections in (1, 40, 100, 1000):
            for backend in ("rustls", "openssl"):
                command = [require_program("tlslab-load"), "--json", "--ca", str(ca), url]
                command += ["--tls=1.2", f"--resume={resume}", f"--backend={backend}"]
                command += [f"-c{connections}", f"-n{2 * connections}"]
                done = subprocess.run(command, capture_output=True, text=True, timeout=60)
                assert done.returncode in (0, 1), done.stderr
                record = json.loads(done.stdout)
                case = (connections, backend, record["outcomes"])
                assert record["outcomes"]["completed"] == 2 * connections, case
                assert record["kinds"]["resumed"] == 2 * connections, case


def test_lean_asks_for_no_group_that_an_ordinary_server_lacks(tmp_path: Path) -> None:
    with nginx(tmp_path, "id") as (url, ca):
        command = [require_program("tlslab-load"), "--lean", "-c", "50", "-n", "300"]
        command += ["--json", "--ca", str(ca), url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, 1), done.stderr
        record = json.loads(done.stdout)
        assert record["outcomes"]["completed"] == 300, record["outcomes"]
        assert {counted["group"] for counted in record["facts"]} == {"X25519"}
        # The share of the default hybrid group comes with one of its part X25519.
        assert not any("key share" in note for note in record["notes"])
        assert record["minimal_client"] > 0
