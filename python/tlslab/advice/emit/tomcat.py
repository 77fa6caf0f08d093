"""Tomcat: a connector of server.xml, on the JVM's own TLS or on OpenSSL.

`${NAME:-DEFAULT}` is a system property with its default. Tomcat takes OpenSSL's names for both. On
the JVM's own TLS the groups are those of the JVM, for which a comment has the option.
"""

from tlslab.advice.emit.jvm import group_names
from tlslab.advice.emit.lines import XML, comment, joined
from tlslab.advice.emit.offer import Offer

_TLS = "org.apache.tomcat.util.net"


def whole(offer: Offer) -> list[str]:
    """The element `Connector`."""
    versions = "+".join(f"TLSv{tls}" for tls in offer.versions)
    attributes = [f'protocols="{versions}"', 'honorCipherOrder="true"']
    if offer.suites12:
        attributes.append(f'ciphers="{joined(offer.suites12)}"')
    if offer.suites13:
        attributes.append(f'cipherSuites="{joined(offer.suites13)}"')
    attributes.append(f'groups="{joined(offer.groups)}"')
    indent = "\n                 "
    lines = [
        '<Connector port="${tls.port:-8443}" address="${tls.address:-0.0.0.0}"',
        '           protocol="org.apache.coyote.http11.Http11NioProtocol"',
        '           SSLEnabled="true" scheme="https" secure="true"',
        '           sslImplementationName="${tls.implementation:-'
        f'{_TLS}.jsse.JSSEImplementation}}">',
        *f"  <SSLHostConfig {indent.join(attributes)}>".split("\n"),
        '    <Certificate certificateFile="${tls.certificate}" certificateKeyFile="${tls.key}" />',
        "  </SSLHostConfig>",
        "</Connector>",
    ]
    return [
        *comment(
            "Give -Dtls.certificate=FILE and -Dtls.key=FILE, or write the files' names below. "
            f"OpenSSL in place of the JVM: -Dtls.implementation={_TLS}.openssl."
            "OpenSSLImplementation.",
            XML,
        ),
        *comment("With the JVM's own TLS, in CATALINA_OPTS:", XML),
        f"<!-- -Djdk.tls.namedGroups={group_names(offer)} -->",
        *lines,
    ]
