"""The texts of a proof: each configuration in the syntax of its server."""

from collections.abc import Sequence

import pytest

from tlslab.analysis.proof.tables import configurations
from tlslab.domain.configuration import Configuration, ServedCertificate
from tlslab.domain.proof_settings import ProofSettings
from tlslab.servers.apache_tls import APACHE
from tlslab.servers.haproxy_tls import HAPROXY
from tlslab.servers.nginx_tls import NGINX
from tlslab.servers.tls_part import Syntax

CASES: list[tuple[Syntax, Sequence[str], bool, str]] = [
    (NGINX, ["ssl_protocols TLSv1.3;"], True, "http2 on;\nssl_protocols TLSv1.3;"),
    (NGINX, ["ssl_protocols TLSv1.3;"], False, "ssl_protocols TLSv1.3;"),
    (APACHE, ["SSLProtocol TLSv1.3"], True, "Protocols h2 http/1.1\nSSLProtocol TLSv1.3"),
    (APACHE, ["SSLProtocol TLSv1.3"], False, "Protocols http/1.1\nSSLProtocol TLSv1.3"),
    (
        HAPROXY,
        [
            "bind ciphers A:B",
            "bind ssl-min-ver TLSv1.2",
            "tune.ssl.cachesize 1000",
            "bind no-tls-tickets",
            "bind allow-0rtt",
        ],
        True,
        """global
    ssl-default-bind-ciphers A:B
    tune.ssl.cachesize 1000
    ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets
frontend web
    bind :443 ssl allow-0rtt alpn h2,http/1.1""",
    ),
    (HAPROXY, [], False, "global\nfrontend web\n    bind :443 ssl alpn http/1.1"),
]


def shown(found: Configuration) -> str:
    (block,) = configurations(ProofSettings("any", "Chromium 156", 0.05, 0.5, (found,)))
    return block.text


@pytest.mark.parametrize(("syntax", "lines", "http2", "text"), CASES)
def test_a_configuration_is_shown_in_its_servers_syntax(
    syntax: Syntax, lines: Sequence[str], http2: bool, text: str
) -> None:
    """The text is read back as the same settings."""
    served = (ServedCertificate("ecdsa-p256"),)
    made = syntax.with_text(Configuration("baseline", "f", tuple(lines), served, http2))
    assert shown(made) == f"# certificate: ecdsa-p256, made by the lab\n{text}"
    part = syntax.part(syntax.read(text, "f", lambda _: {}))
    again = [syntax.written(each.name, each.args) for each in part.settings]
    assert sorted(again) == sorted(lines)
    assert part.http2 is http2


def test_an_older_run_is_shown_without_its_text() -> None:
    found = Configuration("baseline", "f", ("ssl_protocols TLSv1.3;",), (), http2=True)
    assert shown(found) == "http2 on;\nssl_protocols TLSv1.3;"


def test_files_that_were_not_read_are_shown() -> None:
    found = Configuration("baseline", "f", (), (), unread=("include a (line 1)",))
    assert shown(found) == "# not understood, and may set up TLS as well: include a (line 1)"
