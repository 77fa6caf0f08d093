"""Caddy as a managed target: Go's TLS library in place of OpenSSL."""

from dataclasses import replace
from pathlib import Path

import pytest

from live.harness import setting
from live.test_servers import DOCUMENT_BYTES, ECDSA, RSA, served_in_full, started, wanted
from tlslab.domain.deployment import Deployment
from tlslab.domain.errors import CannotRunError
from tlslab.domain.levels import Levels
from tlslab.servers import build, lacking

GROUPS = ("X25519", "P-256", "P-384", "P-521")

HANDSHAKES: tuple[tuple[list[str], dict[str, str]], ...] = (
    *(
        (["--tls=1.3", f"--group={group}", "--http=2"], {"group": group, "alpn": "h2"})
        for group in GROUPS
    ),
    (["--tls=1.3", *RSA], {"tls": "1.3", "signature_scheme": "rsa_pss_rsae_sha256"}),
    (["--tls=1.3", *ECDSA], {"tls": "1.3", "signature_scheme": "ecdsa_secp256r1_sha256"}),
    *(
        (["--tls=1.2", f"--suite={suite}", "--http=1.1"], {"suite": suite, "alpn": "http/1.1"})
        for suite in (
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
            "TLS_RSA_WITH_AES_128_CBC_SHA",
        )
    ),
)


@pytest.mark.capability("Caddy negotiates what is offered")
def test_the_negotiated_handshake_is_the_offered_one(tmp_path: Path) -> None:
    asked = wanted(tmp_path, groups=GROUPS, processors=(0,))
    with started(Deployment("caddy", levels=Levels.of(workers="2")), asked) as server:
        for flags, expected in HANDSHAKES:
            record = server.load(*flags)
            assert served_in_full(record), flags
            for fact in record["facts"]:
                assert fact["kind"] == "full"
                assert expected.items() <= fact.items(), flags
        (process,) = server.running.process.tree()
        assert process.name() == "caddy"
        assert process.cpu_affinity() == [0]
        assert process.environ()["GOMAXPROCS"] == "2"
        # No session can be resumed unless the experiment resumes.
        with pytest.raises(AssertionError, match="gave nothing to resume by"):
            server.load("--tls=1.3", "--resume=psk")


@pytest.mark.parametrize(("kind", "tls"), [("psk", "1.3"), ("ticket", "1.2")])
def test_sessions_are_resumed_on_request(kind: str, tls: str, tmp_path: Path) -> None:
    asked = wanted(tmp_path, groups=GROUPS, resume=kind)
    with started(Deployment("caddy", resume=kind), asked) as server:
        record = server.load(f"--tls={tls}", f"--resume={kind}")
        assert served_in_full(record)
        assert {fact["kind"] for fact in record["facts"]} == {"resumed"}


def test_a_group_that_go_lacks_is_left_out(tmp_path: Path) -> None:
    target = build(Deployment("caddy"), wanted(tmp_path, groups=("X25519", "X448")))
    missing = target.prepare()
    assert missing.keys() == {("group", "X448")}
    assert "'X448'" in missing["group", "X448"]
    target.start().stop()


def test_an_unknown_suite_is_refused_in_caddys_words(tmp_path: Path) -> None:
    asked = wanted(tmp_path, groups=GROUPS, suites=("TLS_MADE_WITH_UP",))
    with pytest.raises(CannotRunError, match=r"refuses its configuration: .*cipher") as caught:
        build(Deployment("caddy"), asked).prepare()
    assert "\n" not in caught.value.message


def test_caddy_serves_plain_http_behind_a_front(tmp_path: Path) -> None:
    asked = replace(setting(tmp_path, "ecdsa-p256"), groups=GROUPS, document_bytes=DOCUMENT_BYTES)
    with started(Deployment("caddy", front="nginx"), asked) as server:
        assert {process.name() for process in server.running.process.tree()} == {"caddy", "nginx"}
        assert served_in_full(server.load("--tls=1.3", "--group=X25519"))


def test_caddy_takes_no_diffie_hellman_parameters() -> None:
    assert (
        lacking(Deployment("caddy", levels=Levels.of(dh_bits="2048")))
        == "caddy does not take dh_bits=2048"
    )
