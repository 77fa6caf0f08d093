"""The parts of an nginx configuration that a proof takes: TLS of one server; nothing is run."""

from pathlib import Path

import pytest

from tlslab.domain.configuration import Configuration
from tlslab.servers.nginx_tls import NGINX
from tlslab.servers.tls_part import ChoiceError, TlsPart

SITE = """
user root; load_module /evil.so;
http {
    ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers HIGH; ssl_session_cache shared:a:10m;
    server { listen 80; return 301 https://a; }
    server {
        listen 443 ssl http2; server_name a.example b.example;
        ssl_certificate /a.pem; ssl_certificate_key /a.key;
        ssl_ciphers ECDHE-RSA-AES256-SHA;
        ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
        ssl_conf_command PrivateKey /etc/shadow;
        ssl_stapling on; location / { proxy_pass http://x; }
    }
}
"""


def part(text: str, name: str | None = None) -> TlsPart:
    return NGINX.part(NGINX.read(text, "f", lambda _: {}), name)


@pytest.mark.parametrize(
    ("include", "unread"),
    [
        ("lost.conf", ("include lost.conf (line 1)",)),
        ("lost/*.conf", ("include lost/*.conf (line 1)",)),
        # nginx takes a pattern without a file.
        ("/etc/none/*.conf", ()),
        ("*.conf", ("include closed.conf (line 1)",)),
    ],
)
@pytest.mark.parametrize("text", ["http {{ {0} {1} }}", "{0} http {{ {1} }}", "http {{ {1} {0} }}"])
def test_files_that_were_not_read_are_named(
    text: str, include: str, unread: tuple[str, ...]
) -> None:
    whole = text.format(f"include {include};", "server { listen 443 ssl; }")
    files = {"*.conf": {"closed.conf": None, "open.conf": "ssl_protocols TLSv1.3;"}}
    found = NGINX.part(NGINX.read(whole, "f", lambda pattern: files.get(pattern, {})))
    assert found.unread == unread
    assert not found.ignored


def settings(found: TlsPart) -> dict[str, tuple[str, ...]]:
    return {each.name: each.args for each in found.settings}


def test_a_server_has_its_own_directives_and_those_around_it() -> None:
    found = part(SITE)
    assert settings(found) == {
        "ssl_protocols": ("TLSv1.2", "TLSv1.3"),
        "ssl_ciphers": ("ECDHE-RSA-AES256-SHA",),
        "ssl_session_cache": ("shared:a:10m",),
        "ssl_conf_command": ("Ciphersuites", "TLS_AES_128_GCM_SHA256"),
    }
    assert found.pairs == (("/a.pem", ("/a.key",)),)
    assert found.http2
    assert found.names == ("a.example", "b.example")


def test_nothing_else_is_taken_and_what_was_left_out_is_named() -> None:
    names = [each.partition(" (")[0] for each in part(SITE).ignored]
    assert names == ["ssl_conf_command PrivateKey", "ssl_stapling", "location"]


@pytest.mark.parametrize("value", ['"a;b"', "'x}'", "$name", '"a b"', "'a\nb'"])
def test_a_value_that_no_setting_of_tls_has_is_left_out(value: str) -> None:
    found = part(f"ssl_ciphers {value}; ssl_protocols TLSv1.3;")
    assert list(settings(found)) == ["ssl_protocols"]
    assert found.ignored == ("ssl_ciphers (line 1)",)


def test_directives_without_a_server_are_those_of_one() -> None:
    assert settings(part("ssl_ecdh_curve X25519;")) == {"ssl_ecdh_curve": ("X25519",)}


def test_directives_that_repeat_of_the_inner_block_replace_those_around() -> None:
    text = "ssl_conf_command Options A; server { listen 1 ssl; ssl_conf_command Options B; }"
    assert [each.args for each in part(text).settings] == [("Options", "B")]


TWO = """server { listen 1 ssl; server_name a; ssl_protocols TLSv1.2; }
server { listen 2 ssl; server_name b; ssl_protocols TLSv1.3; }"""


def test_of_several_servers_one_is_named() -> None:
    assert settings(part(TWO, "b")) == {"ssl_protocols": ("TLSv1.3",)}
    with pytest.raises(ChoiceError, match="2 servers with different TLS: a, b"):
        part(TWO)
    with pytest.raises(ChoiceError, match="has the name c"):
        part(TWO, "c")


def test_servers_with_equal_tls_are_one() -> None:
    assert settings(part(TWO.replace("1.3", "1.2"))) == {"ssl_protocols": ("TLSv1.2",)}


def test_a_file_without_tls_is_refused() -> None:
    with pytest.raises(ChoiceError, match="no server in it has TLS"):
        part("server { listen 80; }")


def test_a_block_of_streams_is_no_server_of_http() -> None:
    assert part("stream { server { listen 1 ssl; ssl_protocols TLSv1.1; } }").settings == ()


@pytest.mark.parametrize(
    ("around", "listen", "inside", "has"),
    [
        ("http2 on;", "", "http2 off;", False),
        ("http2 off;", "", "http2 on;", True),
        ("http2 on;", "", "", True),
        ("", "", "", False),
        ("", "http2", "http2 off;", True),
    ],
)
def test_the_inner_http2_holds(around: str, listen: str, inside: str, has: bool) -> None:
    text = f"http {{ {around} server {{ listen 443 ssl {listen}; {inside} }} }}"
    assert part(text).http2 is has


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ('invalid value "TLSv1.9"', "{}:4: ssl_protocols TLSv1.2 TLSv1.9"),
        ('"ssl_session_timeout" directive invalid value', "{}:3: ssl_session_timeout soon"),
        ('SSL_CTX_set_cipher_list("NONE") failed (SSL: error)', "{}: ssl_ciphers NONE"),
        ("no words in quotes", "{}"),
    ],
)
def test_a_refusal_names_the_line_and_the_directive(tmp_path: Path, words: str, place: str) -> None:
    """A directive that another file has stands without a line."""
    file = tmp_path / "my.conf"
    file.write_text(
        "server {\n  listen 443 ssl;\n  ssl_session_timeout soon;\n"
        "  ssl_protocols TLSv1.2 TLSv1.9;\n}\n"
    )
    lines = ("ssl_session_timeout soon;", "ssl_protocols TLSv1.2 TLSv1.9;", "ssl_ciphers NONE;")
    found = Configuration("baseline", str(file), lines, ())
    assert NGINX.at_fault(found, words) == place.format(file)
