"""The parts of an Apache configuration that a proof takes: TLS of one host; nothing is run."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlslab.domain.configuration import Configuration
from tlslab.servers.apache_tls import APACHE
from tlslab.servers.tls_part import ChoiceError, ConfigurationSyntaxError, TlsPart

SITE = """
ServerRoot "/etc/apache2"
LoadModule evil_module /evil.so
<IfModule mod_ssl.c>
    sslprotocol all -SSLv3
    SSLCipherSuite HIGH
    SSLSessionCache "shmcb:${APACHE_RUN_DIR}/ssl_scache(512000)"
    <VirtualHost *:443>
        ServerName https://a.example:443
        ServerAlias b.example
        Protocols h2 http/1.1
        SSLEngine On
        SSLCertificateFile ssl/a.pem
        SSLCipherSuite ECDHE-RSA-AES256-SHA:\\
ECDHE-RSA-AES128-SHA
        SSLCipherSuite TLSv1.3 TLS_AES_128_GCM_SHA256
        SSLOpenSSLConfCmd Curves X25519
        SSLOpenSSLConfCmd PrivateKey /etc/shadow
        SSLUseStapling on
        <Location "/">
            ProxyPass http://x
        </Location>
    </VirtualHost>
</IfModule>
<VirtualHost *:80>
    Redirect / https://a.example
</VirtualHost>
"""


def part(text: str, name: str | None = None, **files: str) -> TlsPart:
    def load(pattern: str) -> Mapping[str, str]:
        return {pattern: files[pattern]} if pattern in files else {}

    return APACHE.part(APACHE.read(text, "f", load), name)


def lines(found: TlsPart) -> list[str]:
    return [APACHE.written(each.name, each.args) for each in found.settings]


def test_a_host_has_its_own_directives_and_those_around_it() -> None:
    found = part(SITE)
    assert lines(found) == [
        "SSLProtocol all -SSLv3",
        "SSLCipherSuite ECDHE-RSA-AES256-SHA:ECDHE-RSA-AES128-SHA",
        'SSLSessionCache "shmcb:sessions(512000)"',
        "SSLCipherSuite TLSv1.3 TLS_AES_128_GCM_SHA256",
        "SSLOpenSSLConfCmd Curves X25519",
    ]
    # Without a file of its own, the key is in that of the certificate.
    pem = "/etc/apache2/ssl/a.pem"
    assert found.pairs == ((pem, (pem,)),)
    assert found.http2
    assert found.names == ("a.example", "b.example")


def test_nothing_else_is_taken_and_what_was_left_out_is_named() -> None:
    assert part(SITE).ignored == (
        "SSLOpenSSLConfCmd PrivateKey (line 18)",
        "SSLUseStapling (line 19)",
        "Location (line 20)",
    )


def test_all_that_is_taken_is_a_setting_as_it_is_written() -> None:
    assert all(map(APACHE.is_setting, lines(part(SITE))))


@pytest.mark.parametrize(
    "line",
    [
        "SSLOpenSSLConfCmd PrivateKey /etc/shadow",
        "SSLProtocol TLSv1.3\nInclude /etc/shadow",
        "SSLSessionCache shmcb:/tmp/elsewhere(512000)",
        "SSLSessionCache dbm:/tmp/elsewhere",
        "SSLCertificateFile /a.pem",
        "<IfModule x>",
    ],
)
def test_no_other_line_is_a_setting(line: str) -> None:
    assert not APACHE.is_setting(line)


def test_blocks_under_a_condition_are_named_and_modules_count_as_there() -> None:
    text = """<IfDefine NEW>
    SSLProtocol TLSv1.3
    </IfDefine>
    <IfModule !mod_ssl.c>
    SSLHonorCipherOrder on
    </IfModule>
    <IfModule mod_ssl.c>
    SSLSessionTickets off
    </IfModule>"""
    assert lines(part(text)) == ["SSLSessionTickets off"]
    assert part(text).ignored == ("IfDefine (line 1)",)


TWO = """<VirtualHost a>
SSLEngine on
ServerName a
SSLProtocol TLSv1.2
</VirtualHost>
<VirtualHost b>
SSLEngine on
ServerName b
SSLProtocol TLSv1.3
</VirtualHost>"""


def test_of_several_hosts_one_is_named() -> None:
    assert lines(part(TWO, "b")) == ["SSLProtocol TLSv1.3"]
    with pytest.raises(ChoiceError, match="2 servers with different TLS: a, b"):
        part(TWO)
    with pytest.raises(ChoiceError, match="has the name c"):
        part(TWO, "c")
    assert lines(part(TWO.replace("1.3", "1.2"))) == ["SSLProtocol TLSv1.2"]


def test_a_file_without_tls_is_refused() -> None:
    with pytest.raises(ChoiceError, match="no server in it has TLS"):
        part("<VirtualHost *:80>\nServerName a\n</VirtualHost>")


def test_included_files_take_the_place_of_their_include_below_the_root() -> None:
    text = "ServerRoot /opt\nIncludeOptional none\nInclude tls\nInclude lost"
    found = part(text, None, **{"/opt/tls": "SSLProtocol TLSv1.3"})
    assert lines(found) == ["SSLProtocol TLSv1.3"]
    assert found.unread == ("Include lost (line 4)",)
    with pytest.raises(ConfigurationSyntaxError, match="includes itself"):
        part("Include x", None, x="Include x")


@pytest.mark.parametrize(
    ("include", "unread"),
    [
        ("Include lost", ("Include lost (line 1)",)),
        ("IncludeOptional lost", ()),
        ("IncludeOptional ${DIR}/*.conf", ("IncludeOptional ${DIR}/*.conf (line 1)",)),
        ("IncludeOptional *.conf", ("IncludeOptional closed.conf (line 1)",)),
    ],
)
@pytest.mark.parametrize("inside", [True, False])
def test_files_that_were_not_read_are_named(
    include: str, unread: tuple[str, ...], inside: bool
) -> None:
    host = "<VirtualHost a>\nSSLEngine on\n</VirtualHost>"
    text = host.replace("a>", f"a>\n{include}") if inside else f"{include}\n{host}"
    files = {"*.conf": {"closed.conf": None, "open.conf": "SSLProtocol TLSv1.3"}}
    found = APACHE.part(APACHE.read(text, "f", lambda pattern: files.get(pattern, {})))
    assert found.unread == tuple(each.replace("1", "2") if inside else each for each in unread)
    assert lines(found) == (["SSLProtocol TLSv1.3"] if include.split()[1] == "*.conf" else [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<VirtualHost a>\nSSLEngine on", "f:1: <VirtualHost> is not closed"),
        ("\n</VirtualHost>", "f:2: </virtualhost> closes no block"),
        ("<VirtualHost a", "f:1: '>' is missing"),
        ("<a>\n</b>\n</a>", "f:2: </b> closes no block"),
        ("<>", "f:1: no directive of Apache"),
        ("\nAH00526: Syntax error", "f:2: no directive of Apache: AH00526: Syntax error"),
    ],
)
def test_text_that_apache_refuses_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigurationSyntaxError, match=words):
        part(text)


def test_a_candidate_replaces_the_same_setting_only() -> None:
    def setting(line: str) -> tuple[str, ...]:
        return APACHE.setting(APACHE.words(line))

    assert setting("SSLCipherSuite TLSv1.3 A") != setting("SSLCipherSuite A")
    assert setting("SSLOpenSSLConfCmd Groups A") == setting("SSLOpenSSLConfCmd Curves B")
    assert setting("SSLOpenSSLConfCmd Groups A") != setting("SSLOpenSSLConfCmd NumTickets 1")


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("SSLProtocol: Illegal protocol 'TLSv1.9'", "{}:2: SSLProtocol all TLSv1.9"),
        ('"SSLOpenSSLConfCmd Groups NONE" failed', "{}: SSLOpenSSLConfCmd Groups NONE"),
        ("no words in quotes", "{}"),
    ],
)
def test_a_refusal_names_the_line_and_the_directive(tmp_path: Path, words: str, place: str) -> None:
    """A directive that another file has stands without a line."""
    file = tmp_path / "my.conf"
    file.write_text("SSLHonorCipherOrder on\nSSLProtocol  all TLSv1.9\n")
    taken = ("SSLProtocol all TLSv1.9", "SSLOpenSSLConfCmd Groups NONE")
    found = Configuration("baseline", str(file), taken, ())
    assert APACHE.at_fault(found, words) == place.format(file)


@given(st.text(alphabet=" \n<>/#\"'\\$aS", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = APACHE.read(text, "f", lambda _: {})
    except ConfigurationSyntaxError:
        return
    assert all(isinstance(part.names, tuple) for part in APACHE.parts(found))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Define X TLSv1.2\nSSLProtocol ${X}", "SSLProtocol (line 2)"),
        ("<IfDefine Y>\nSSLProtocol TLSv1.2\n</IfDefine>", "IfDefine (line 1)"),
        ("Use Modern a.example", "Use Modern (line 1)"),
    ],
)
def test_what_is_not_understood_and_may_set_up_tls_is_named(text: str, named: str) -> None:
    assert part(text).unread == (named,)
