"""Configurations: their content, and that no text of a server ends a comment."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tlslab.advice.emit import SYNTAXES
from tlslab.advice.preference import Preference, Subject

SUITES = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
)
LIST = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305"


def preference(
    subject: Subject,
    names: Sequence[str],
    server: str = "nginx",
    head: Sequence[str] = ("measured on nginx",),
) -> Preference:
    return Preference(subject, server, tuple(names), head=tuple(head))


def emitted(name: str, given: Preference) -> str:
    text = SYNTAXES[name].emit(given)
    assert text is not None
    return text


def settings(text: str) -> list[str]:
    """The lines that are not comments."""
    return [line for line in text.splitlines() if not line.startswith(("#", "//", ";"))]


@pytest.mark.parametrize(
    ("server", "line"),
    [
        ("nginx", f"ssl_ciphers {LIST};"),
        ("apache", f"SSLCipherSuite {LIST}"),
        ("haproxy", f"ssl-default-bind-ciphers {LIST}"),
    ],
)
def test_suites_stand_in_their_order(server: str, line: str) -> None:
    assert line in settings(emitted(server, preference("suite", SUITES)))


def test_node_keeps_tls_1_3_on() -> None:
    lines = settings(emitted("node", preference("suite", SUITES)))
    names = [line.strip(" ',") for line in lines if line.startswith("  '")]
    assert names == [
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        *LIST.split(":"),
    ]


def test_rwserve_has_a_block_with_a_suite_a_line() -> None:
    lines = settings(emitted("rwserve", preference("suite", SUITES)))
    assert [line.strip() for line in lines] == ["server {", "ciphers {", *LIST.split(":"), "}", "}"]
    assert SYNTAXES["rwserve"].emit(preference("group", ["X25519"])) is None


@pytest.mark.parametrize("server", list(SYNTAXES))
def test_without_anything_to_prefer_there_is_no_text(server: str) -> None:
    assert SYNTAXES[server].emit(preference("suite", ())) is None
    assert SYNTAXES[server].emit(preference("group", ())) is None


@pytest.mark.parametrize("server", ["nginx", "apache", "haproxy", "node"])
def test_groups_have_openssl_names_and_hybrids_wait_for_a_library_that_has_them(
    server: str,
) -> None:
    given = preference("group", ["X25519MLKEM768", "X25519", "P-256"], server="reference")
    text = emitted(server, given)
    assert any("X25519:prime256v1" in line for line in settings(text))
    assert not any("MLKEM" in line for line in settings(text))
    assert "X25519MLKEM768:X25519:prime256v1" in text
    slow = emitted(server, replace(given, names=("X25519", "P-256", "X25519MLKEM768")))
    assert "X25519:prime256v1:X25519MLKEM768" in slow
    seen = preference("group", ["X25519MLKEM768", "X25519"], server=server)
    assert any("X25519MLKEM768:X25519" in line for line in settings(emitted(server, seen)))


def test_domino_switches_off_what_is_slower() -> None:
    text = emitted("domino", preference("group", ["X25519", "P-256", "X448", "P-384", "P-521"]))
    assert settings(text) == [
        "SSL_DISABLE_CURVE_X448=1",
        "SSL_DISABLE_CURVE_P384=1",
        "SSL_DISABLE_CURVE_P521=1",
    ]
    assert ";SSL_DISABLE_CURVE_P256=1" in text


def test_domino_keeps_what_cannot_be_distinguished_from_the_best() -> None:
    given = replace(
        preference("group", ["P-256", "X25519", "P-384"]),
        equals=frozenset({"P-256", "X25519"}),
        left_open="they may differ by up to 4 %",
    )
    off = settings(emitted("domino", given))
    assert off == [f"SSL_DISABLE_CURVE_{name}=1" for name in ("X448", "P384", "P521")]
    words = " ".join(emitted("domino", given).replace(";", " ").split())
    assert "It cannot be told apart from X25519 (they may differ by up to 4 %)." in words


def test_domino_needs_the_faster_ones_of_its_own_order_off() -> None:
    off = settings(emitted("domino", preference("group", ["X448", "X25519", "P-256"])))
    assert off == [f"SSL_DISABLE_CURVE_{name}=1" for name in ("X25519", "P256", "P384", "P521")]
    assert SYNTAXES["domino"].emit(preference("suite", SUITES)) is None
    assert SYNTAXES["domino"].emit(preference("group", ["X25519MLKEM768"])) is None


@pytest.mark.parametrize("server", ["nginx", "apache", "haproxy", "node", "rwserve"])
def test_what_a_server_says_of_itself_cannot_leave_the_comment(server: str) -> None:
    hostile = "x\nssl_ciphers NULL;\r\u2028process.exit()\x1b[2J"
    plain = preference("suite", SUITES)
    given = preference("suite", SUITES, head=(hostile,))
    assert settings(emitted(server, given)) == settings(emitted(server, plain))
