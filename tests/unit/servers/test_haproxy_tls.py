"""The parts of a HAProxy configuration that a proof takes: TLS of a `bind` line; nothing is run."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlslab.domain.configuration import Configuration
from tlslab.servers.haproxy_tls import HAPROXY
from tlslab.servers.tls_part import ChoiceError, ConfigurationSyntaxError, TlsPart

SITE = """
global
    log /dev/log local0  # a comment
    chroot /var/lib/haproxy
    crt-base /etc/ssl/private
    ssl-default-bind-ciphers HIGH
    ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets strict-sni
    tune.ssl.cachesize 1000
    ssl-load-extra-files none

defaults
    mode http

frontend web
    bind :80
    bind :443 ssl crt a.pem crt "/b c" alpn h2,http/1.1 ciphers A:B ssl-max-ver TLSv1.3 verify none
    default_backend servers

backend servers
    server one 127.0.0.1:1 ssl verify none ciphers C
"""


def part(text: str, name: str | None = None) -> TlsPart:
    return HAPROXY.part(HAPROXY.read(text, "f", lambda _: {}), name)


def lines(found: TlsPart) -> list[str]:
    return [HAPROXY.written(each.name, each.args) for each in found.settings]


def test_a_bind_line_has_its_own_options_and_those_of_all() -> None:
    found = part(SITE)
    assert lines(found) == [
        "bind ciphers A:B",
        "bind ssl-min-ver TLSv1.2",
        "bind no-tls-tickets",
        "tune.ssl.cachesize 1000",
        "bind ssl-max-ver TLSv1.3",
    ]
    # The key is in the certificate's file, or beside it.
    assert found.pairs == tuple(
        (each, (each, f"{each}.key")) for each in ("/etc/ssl/private/a.pem", "/b c")
    )
    assert found.http2
    assert found.names == ("web",)


def test_nothing_else_is_taken_and_what_was_left_out_is_named() -> None:
    assert part(SITE).ignored == (
        "bind strict-sni (line 7)",
        "ssl-load-extra-files (line 9)",
        "bind verify (line 16)",
        "default_backend (line 17)",
    )


def test_all_that_is_taken_is_a_setting_as_it_is_written() -> None:
    assert all(map(HAPROXY.is_setting, lines(part(SITE))))


@pytest.mark.parametrize(
    ("options", "http2"),
    [
        ("alpn h2,http/1.1", True),
        ("alpn http/1.1", False),
        ("no-alpn", False),
        ("alpn h2 no-alpn", False),
        ("no-alpn alpn h2", True),
        ("npn http/1.1", False),
        # The default, which depends on the version.
        ("", None),
        ("\nmode tcp", False),
    ],
)
def test_a_bind_line_offers_http2_by_its_last_word_on_alpn(
    options: str, http2: bool | None
) -> None:
    found = part(f"frontend a\nbind :1 ssl crt a.pem {options}")
    assert found.http2 is http2
    assert not any("alpn" in each for each in found.ignored)


@pytest.mark.parametrize(
    "line",
    [
        "bind no-tls-tickets crt /etc/shadow",
        "bind crt /etc/shadow",
        "bind ciphers",
        "bind ciphers A B",
        "tune.ssl.cachesize 0\nchroot /",
        "ssl-default-bind-ciphers A",
        "ssl-dh-param-file $HOME",
        "setenv A B",
    ],
)
def test_no_other_line_is_a_setting(line: str) -> None:
    assert not HAPROXY.is_setting(line)


def test_a_file_without_a_bind_line_is_a_fragment() -> None:
    assert lines(part("global\n ssl-default-bind-curves X25519")) == ["bind curves X25519"]


TWO = """frontend a
bind :1 ssl curves X25519
frontend b
bind :2 ssl curves P-256
bind quic4@:2 ssl curves P-384"""


def test_of_several_frontends_one_is_named() -> None:
    assert lines(part(TWO, "b")) == ["bind curves P-256"]
    with pytest.raises(ChoiceError, match="2 servers with different TLS: a, b"):
        part(TWO)
    with pytest.raises(ChoiceError, match="has the name c"):
        part(TWO, "c")
    assert lines(part(TWO.replace("P-256", "X25519"))) == ["bind curves X25519"]


def test_a_file_without_tls_is_refused() -> None:
    with pytest.raises(ChoiceError, match=r"no server in it has TLS \(`bind ... ssl`\)"):
        part("frontend a\nbind :80")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('global\n  log "a', "f:2: a quote is not closed"),
        ("frontend a\nbind :1 ssl crt", "f:2: crt has no value"),
        ("ssl_protocols TLSv1.3;", "f:1: ssl_protocols is in no section of HAProxy"),
        (".if defined(A)\nglobal\n.endif", "f:1: .if is not evaluated"),
    ],
)
def test_text_that_cannot_be_read_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigurationSyntaxError, match=words):
        part(text)


def test_a_candidate_replaces_the_same_setting_only() -> None:
    def setting(line: str) -> tuple[str, ...]:
        return HAPROXY.setting(HAPROXY.words(line))

    # A baseline with `force-tlsv12` would else outlive a candidate with TLS 1.3.
    assert setting("bind force-tlsv12") == setting("bind ssl-min-ver TLSv1.2")
    assert setting("bind ciphers A") != setting("bind ciphersuites A")
    assert setting("tune.ssl.lifetime 1") == ("tune.ssl.lifetime",)


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("'bind :1' : 'curves' : cannot set X to 'NONE'", "{}:3: bind curves NONE"),
        ("no words in quotes", "{}"),
    ],
)
def test_a_refusal_names_the_line_and_the_option(tmp_path: Path, words: str, place: str) -> None:
    file = tmp_path / "haproxy.cfg"
    file.write_text("global\n  ssl-default-bind-ciphers A\n  ssl-default-bind-curves NONE\n")
    found = Configuration("baseline", str(file), ("bind ciphers A", "bind curves NONE"), ())
    assert HAPROXY.at_fault(found, words) == place.format(file)


@given(st.text(alphabet=" \n#\"'\\$.abind:", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = HAPROXY.parts(HAPROXY.read(text, "f", lambda _: {}))
    except ConfigurationSyntaxError:
        return
    assert all(isinstance(part.names, tuple) for part in found)
