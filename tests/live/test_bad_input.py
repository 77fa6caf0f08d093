"""Bad input gives one clear line and the right exit code, and leaves no process behind."""

import resource
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from live.harness import Own, Tlslab, assert_finished, setting, trials
from tlslab.servers import Authority, Reference
from tlslab.servers.certificates import SERVER_NAME, VALID_DAYS, CertificateFiles, Purpose
from tlslab.servers.programs import require_program

Small = Callable[..., str]


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ("group=X25518", "unknown group 'X25518'; known: X25519, P-256, P-384"),
        ("suite=RC4-MD5", "unknown suite 'RC4-MD5'; known: TLS_AES_128_GCM_SHA256"),
        ("curve=X25519", "unknown factor 'curve'; known: server, front"),
    ],
)
def test_an_unknown_name_is_wrong_usage(tlslab: Tlslab, levels: str, words: str) -> None:
    ended = tlslab.run("run", "groups", "--quick", "--set", levels)
    assert ended.code == 2
    assert len(ended.errors) == 1
    assert words in ended.errors[0]


def test_an_unknown_option_or_target_is_wrong_usage(tlslab: Tlslab, small: Small) -> None:
    assert tlslab.run("run", "groups", "--fast").code == 2
    ended = tlslab.run("run", small(), "--target", "ngnix")
    assert ended.code == 2
    assert "unknown target 'ngnix'" in ended.err
    assert "reference" in ended.err


def test_a_malformed_experiment_is_reported_by_line_and_key(tlslab: Tlslab, small: Small) -> None:
    name = small()
    path = tlslab.folder / name
    path.write_text(path.read_text().replace("blocks = 2", "blocks = 0"))
    ended = tlslab.run("run", name)
    assert ended.code == 2
    assert ended.errors == ["error: small.toml:4: blocks: must be a whole number from 1 to 1000"]


def test_a_group_that_the_back_end_lacks(tlslab: Tlslab, own_reference: Own) -> None:
    arguments = ["-n", "1", "--backend", "rustls", "--group", "ffdhe2048"]
    ended = tlslab.run("load", *arguments, "--ca", str(own_reference.ca), own_reference.url)
    assert ended.code == 2
    assert "ffdhe2048" in ended.err


def test_a_cell_that_the_server_cannot_do_is_a_result(
    tlslab: Tlslab, small: Small, own_reference: Own
) -> None:
    """The server has X25519 and P-256 only; X448 is unsupported and the run continues."""
    target = ["--target", own_reference.url, "--ca", str(own_reference.ca)]
    ended = tlslab.run("run", small(), *target, "--set", "group=X25519,X448", "--out", "r")
    assert_finished(ended, tlslab.folder / "r")
    assert "group=X448: unsupported: alert_handshake_failure" in ended.err
    assert len(trials(tlslab.folder / "r")) == 3


def test_a_port_where_nothing_listens(tlslab: Tlslab, small: Small) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ended = tlslab.run("run", small(), "--target", f"https://127.0.0.1:{port}/")
    assert ended.code == 3
    assert len(ended.errors) == 1
    assert str(port) in ended.errors[0]
    assert not (tlslab.folder / "runs").exists()


@pytest.fixture
def plain_port() -> Iterator[int]:
    """A server that answers in plain HTTP."""

    class Plain(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.connection.recv(4096)
            self.wfile.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Plain) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_server_that_speaks_no_tls(tlslab: Tlslab, small: Small, plain_port: int) -> None:
    ended = tlslab.run("run", small(), "--target", f"https://127.0.0.1:{plain_port}/")
    assert ended.code == 3
    assert len(ended.errors) == 1
    assert str(plain_port) in ended.errors[0]
    assert "speaks TLS" in ended.remedy


def test_a_wrong_authority(tlslab: Tlslab, small: Small, own_reference: Own) -> None:
    other = tlslab.folder / "other"
    other.mkdir()
    authority = Authority(other)
    authority.issue("ecdsa-p256")
    wrong = other / "wrong.pem"
    wrong.write_text(authority.trust_pem)
    ended = tlslab.run("run", small(), "--target", own_reference.url, "--ca", str(wrong))
    assert ended.code == 3
    assert len(ended.errors) == 1
    assert "certificate" in ended.errors[0].lower()
    assert "is not its CA" in ended.remedy


class Faulty(Authority):
    """An authority whose certificates have all expired, or are for another name."""

    def __init__(self, folder: Path, lifetime_days: int, name: str) -> None:
        super().__init__(folder)
        self._fault = (lifetime_days, name)
        if name != SERVER_NAME:
            self._addresses = ("192.0.2.1", "192.0.2.2")

    def issue(
        self,
        kind: str,
        lifetime_days: int = VALID_DAYS,
        purpose: Purpose = "server",
        addresses: Sequence[str] = (),
        stapled: bool = False,
        name: str = SERVER_NAME,
    ) -> CertificateFiles:
        lifetime_days, name = self._fault
        return super().issue(kind, lifetime_days, purpose, addresses, stapled, name)


@pytest.mark.parametrize(
    ("days", "name", "words", "remedy"),
    [
        (-1, SERVER_NAME, "expired", "renew the server's certificate"),
        (VALID_DAYS, "elsewhere.example", "name", "correct the host"),
    ],
    ids=["expired", "wrong name"],
)
def test_a_certificate_that_does_not_pass(
    tlslab: Tlslab, small: Small, tmp_path: Path, days: int, name: str, words: str, remedy: str
) -> None:
    target = Reference(setting(tmp_path, "ecdsa-p256"), require_program("tlslab-serve"))
    target._authority = Faulty(tmp_path, days, name)
    target.prepare()
    ca = tmp_path / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    try:
        ended = tlslab.run("run", small(), "--target", running.url, "--ca", str(ca))
    finally:
        running.stop()
    assert ended.code == 3
    assert len(ended.errors) == 1
    assert words in ended.errors[0].lower()
    assert remedy in ended.remedy


def test_a_missing_authority_file(tlslab: Tlslab, small: Small) -> None:
    ended = tlslab.run("run", small(), "--target", "https://127.0.0.1:1/", "--ca", "none.pem")
    assert ended.code == 2
    assert "none.pem" in ended.errors[0]


def test_a_file_limit_below_the_concurrency(tlslab: Tlslab, small: Small) -> None:
    prefix = ["prlimit", "--nofile=128:128"]
    ended = tlslab.run("run", small(connections=200), prefix=prefix)
    assert ended.code == 3
    assert "128 open files" in ended.errors[0]
    assert "help:" in ended.err
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 128


@pytest.mark.capability("a target that nobody allowed is refused", only=("192.0.2.1",))
@pytest.mark.parametrize("host", ["192.0.2.1", "[2001:db8::1]"])
def test_a_target_that_nobody_allowed(tlslab: Tlslab, small: Small, host: str) -> None:
    """Addresses for documentation (RFC 5737, RFC 3849): no host answers there."""
    ended = tlslab.run("run", small(), "--target", f"https://{host}/", XDG_CONFIG_HOME="/none")
    assert ended.code == 3
    assert len(ended.errors) == 1
    assert "--allow HOST" in ended.remedy
    assert "tlslab load" not in ended.remedy, "the command has all options that are named"


def test_a_proof_reaches_the_engine(tlslab: Tlslab, small: Small, own_reference: Own) -> None:
    target = ["--target", own_reference.url, "--ca", str(own_reference.ca)]
    ended = tlslab.run("run", small(), *target, "--proof", "too-short")
    assert ended.code in (2, 3)
    assert "proof must be 16 to 64 letters" in ended.errors[0]
    ended = tlslab.run("run", small(), "--proof", "0123456789abcdef")
    assert ended.code == 2
    assert "--proof is for a server that the lab did not start" in ended.errors[0]


def test_the_allow_file_is_read_and_a_faulty_one_is_reported(tlslab: Tlslab, small: Small) -> None:
    file = tlslab.folder / "tlslab" / "allow"
    file.mkdir(parents=True)
    target = ["--target", "https://192.0.2.1/"]
    ended = tlslab.run("run", small(), *target, XDG_CONFIG_HOME=str(tlslab.folder))
    assert ended.code == 2
    assert "allow" in ended.errors[0]


def test_a_folder_that_holds_a_run_already(tlslab: Tlslab, small: Small) -> None:
    assert_finished(tlslab.run("run", small(blocks=1), "--out", "r"), tlslab.folder / "r")
    again = tlslab.run("run", small(blocks=1), "--out", "r")
    assert again.code == 3
    assert "already holds a run" in again.errors[0]


def test_a_folder_that_holds_no_run(tlslab: Tlslab) -> None:
    ended = tlslab.run("report", ".")
    assert ended.code == 3
    assert "holds no run" in ended.errors[0]
