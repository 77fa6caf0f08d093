"""Tomcat: a connector of server.xml, on the JVM's own TLS or on OpenSSL.

`${NAME:-DEFAULT}` is a system property with its default. Tomcat takes OpenSSL's names of suites and
JSSE's names of groups for both.
"""

from collections.abc import Sequence

from tlslab.advice.emit.offer import Offer
from tlslab.advice.emit.rows import XML, comment, joined, jsse_name
from tlslab.domain.names import Group

_TLS = "org.apache.tomcat.util.net"


def lines(offer: Offer) -> list[str]:
    """The element `Connector`."""
    versions = "+".join(f"TLSv{tls}" for tls in offer.versions)
    attributes = [f'protocols="{versions}"', 'honorCipherOrder="true"']
    if offer.suites12:
        attributes.append(f'ciphers="{joined(offer.suites12)}"')
    if offer.suites13:
        attributes.append(f'cipherSuites="{joined(offer.suites13)}"')
    attributes.append(_groups(offer.groups))
    first, *more = attributes
    newer = []
    if offer.waiting:
        words = f"With a library that has it (OpenSSL 3.5 or later), {offer.order_of_all}:"
        newer = [*comment(words, XML), f"{XML} {_groups(offer.all_groups)} -->"]
    return [
        *comment(
            "Give -Dtls.certificate=FILE and -Dtls.key=FILE, or write the files' names below. "
            f"OpenSSL in place of the JVM: -Dtls.implementation={_TLS}.openssl."
            "OpenSSLImplementation.",
            XML,
        ),
        *newer,
        '<Connector port="${tls.port:-8443}" address="${tls.address:-0.0.0.0}"',
        '           protocol="org.apache.coyote.http11.Http11NioProtocol"',
        '           SSLEnabled="true" scheme="https" secure="true"',
        '           sslImplementationName="${tls.implementation:-'
        f'{_TLS}.jsse.JSSEImplementation}}">',
        f"  <SSLHostConfig {first}",
        *(f"                 {attribute}" for attribute in more[:-1]),
        f"                 {more[-1]}>",
        '    <Certificate certificateFile="${tls.certificate}" certificateKeyFile="${tls.key}" />',
        "  </SSLHostConfig>",
        "</Connector>",
    ]


def _groups(groups: Sequence[Group]) -> str:
    return f'groups="{",".join(map(jsse_name, groups))}"'
