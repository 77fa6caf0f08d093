"""Grades three real servers, and compares simulated clients with real ClientHellos."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from live.harness import Own, Tlslab, setting
from live.hellos import ask
from tlslab.advice.simulate import clients
from tlslab.servers import Nginx
from tlslab.servers.apache import Apache
from tlslab.servers.configured import ConfiguredServer
from tlslab.servers.haproxy import HAProxy
from tlslab.servers.programs import require_program

# Kinds of servers, keys, and differences from the lab's configuration: patterns with replacements.
SERVERS: dict[str, tuple[type[ConfiguredServer], tuple[str, ...], tuple[tuple[str, str], ...]]] = {
    "old nginx": (
        Nginx,
        ("rsa-2048", "ecdsa-p256"),
        (
            (r"ssl_protocols .*;", "ssl_protocols TLSv1 TLSv1.1 TLSv1.2;"),
            (r"ssl_ciphers .*;", "ssl_ciphers ALL:@SECLEVEL=0;"),
        ),
    ),
    "modern Apache": (
        Apache,
        ("ecdsa-p256",),
        (
            (r"SSLProtocol .*", "SSLProtocol -all +TLSv1.3"),
            (
                r"SSLCipherSuite TLSv1.3 .*",
                "SSLCipherSuite TLSv1.3 TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256\n"
                "SSLHonorCipherOrder on",
            ),
        ),
    ),
    "intermediate HAProxy": (
        HAProxy,
        ("rsa-2048",),
        (
            (r" ciphers \S+", " ciphers ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384"),
            (r"ciphersuites \S+", "ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"),
        ),
    ),
}


@contextmanager
def started(folder: Path, name: str) -> Iterator[Own]:
    """One of the servers, until the block ends."""
    kind, keys, edits = SERVERS[name]

    class Edited(kind):  # type: ignore[misc, valid-type]
        """The lab's server with another configuration."""

        def _configure(self, *arguments: Any) -> Path:
            config: Path = super()._configure(*arguments)
            text = config.read_text()
            for pattern, by in edits:
                text, count = re.subn(pattern, by, text)
                assert count, pattern
            config.write_text(text)
            return config

    target = Edited(setting(folder, *keys))
    target.prepare()
    ca = folder / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    try:
        yield Own(running, ca)
    finally:
        running.stop()


def netloc(server: Own) -> str:
    return urlsplit(server.url).netloc


def numbers(server: Own) -> dict[str, int]:
    """The numbers of the server's suites, by their names."""
    command = [require_program("tlslab-load"), "probe", netloc(server), "--json"]
    command += ["--only", "suites", "--sni", "localhost", "--insecure"]
    probed = subprocess.run(command, capture_output=True, check=True, timeout=60)
    suites = [each for of in json.loads(probed.stdout)["suites"] for each in of["accepted"]]
    return {suite["name"]: suite["code_point"] for suite in suites}


class Graded:
    """A grading as JSON, with the exit code."""

    def __init__(self, tlslab: Tlslab, server: Own, *options: str) -> None:
        command = ["grade", netloc(server), "--sni", "localhost", "--ca", str(server.ca)]
        ended = tlslab.run(*command, "--json", *options)
        self.code, self.err = ended.code, ended.err
        self.data = json.loads(ended.out)
        self.clients = {each["client"]: each for each in self.data["clients"]}
        self.numbers = numbers(server)

    def grade(self, name: str, policy: str) -> str | None:
        """The verdict of a policy on an item that must be present."""
        found = next(each for each in self.data["found"] if each["name"] == name)
        by = {said["policy"]: said["grade"] for said in found["judgements"]}
        return by.get(policy)

    def names(self, topic: str) -> set[str]:
        return {each["name"] for each in self.data["found"] if each["topic"] == topic}


def test_an_old_nginx(tlslab: Tlslab, tmp_path: Path) -> None:
    with started(tmp_path, "old nginx") as server:
        graded = Graded(tlslab, server)
        hold_against_real_hellos(graded, server)
    assert graded.code == 1, graded.err
    assert "RFC 9325" in graded.err
    assert "RFC 10015" in graded.err
    assert graded.names("version") == {"1.2", "1.1", "1.0"}
    assert graded.grade("1.0", "rfc9325") == "forbidden"
    assert graded.grade("1.0", "bsi-tr-02102-2") == "discouraged"
    assert graded.grade("TLS_RSA_WITH_AES_128_CBC_SHA", "rfc10015") == "forbidden"
    assert graded.grade("TLS 1.3 is missing", "nist-800-52r2") == "forbidden"
    assert graded.names("key") == {"RSA-2048", "ECDSA P-256"}
    assert graded.clients["Android 4.4.2"]["connects"]
    assert graded.clients["OpenSSL 0.9.8y"]["version"] == "1.0"
    assert not graded.clients["IE 6, Windows XP"]["connects"]


@pytest.mark.capability("grade of a live Apache")
def test_a_modern_apache(tlslab: Tlslab, tmp_path: Path) -> None:
    with started(tmp_path, "modern Apache") as server:
        graded = Graded(tlslab, server, "--policy", "nist-800-52r2")
        hold_against_real_hellos(graded, server)
    assert graded.names("version") == {"1.3"}
    assert graded.names("suite") == {"TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256"}
    assert graded.grade("1.3", "mozilla-modern") == "recommended"
    assert graded.grade("TLS_AES_128_GCM_SHA256", "cnsa2") == "forbidden"
    assert graded.grade("TLS 1.2 is missing", "mozilla-modern") == "recommended"
    # NIST requires TLS 1.2 as well.
    assert graded.grade("TLS 1.2 is missing", "nist-800-52r2") == "forbidden"
    assert graded.code == 1
    assert "NIST SP 800-52r2: fails" in graded.err
    assert graded.clients["Chrome 101"]["suite"] == "TLS_AES_256_GCM_SHA384"
    assert not graded.clients["IE 11, Windows 10"]["connects"]


def test_an_intermediate_haproxy(tlslab: Tlslab, tmp_path: Path) -> None:
    with started(tmp_path, "intermediate HAProxy") as server:
        graded = Graded(tlslab, server, "--policy", "rfc9325", "--policy", "rfc10015")
        hold_against_real_hellos(graded, server)
        place = netloc(server)
        text = tlslab.run("grade", place, "--sni", "localhost", "--ca", str(server.ca))
    assert graded.code == text.code == 0, graded.err
    assert graded.names("version") == {"1.3", "1.2"}
    assert graded.names("suite") == {
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    }
    assert graded.names("group") == {"X25519", "P-256"}
    assert graded.grade("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "rfc9325") == "recommended"
    assert graded.grade("RSA-2048", "mozilla-intermediate") == "recommended"
    assert graded.grade("RSA-2048", "bsi-tr-02102-2") == "discouraged"
    assert graded.clients["Firefox 53"]["connects"]
    reason = graded.clients["IE 11, Windows 7"]["reason"]
    assert reason == "no cipher suite in common in TLS 1.2"
    assert text.out.startswith(f"{place} offers nothing that RFC 9325")


def hold_against_real_hellos(graded: Graded, server: Own) -> None:
    """The server answers the ClientHello of every client as simulated."""
    parts = urlsplit(server.url)
    assert parts.hostname is not None
    assert parts.port is not None
    for client in clients():
        said = graded.clients[client.name]
        answer = ask((parts.hostname, parts.port), client)
        if said["reason"].startswith("the server chooses"):
            continue  # here the client does not continue
        assert (answer is not None) == said["connects"], (client.name, said, answer)
        if answer is not None:
            assert answer.version == said["version"], client.name
            assert answer.suite == graded.numbers[said["suite"]], (client.name, said, answer)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("localhost:1",), 3, "nothing listens on localhost:1"),
        (("192.0.2.1",), 3, "only loopback addresses and hosts that you list"),
        (("localhost", "--policy", "nobody"), 2, "unknown policy 'nobody'"),
    ],
)
def test_what_cannot_be_graded_is_one_line(
    tlslab: Tlslab, arguments: tuple[str, ...], code: int, words: str
) -> None:
    ended = tlslab.run("grade", *arguments, XDG_CONFIG_HOME="/none")
    assert ended.code == code
    assert len(ended.errors) == 1
    assert words in ended.errors[0]
    assert ended.out == ""
