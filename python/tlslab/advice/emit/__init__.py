"""Configurations: the complete offer of a server, as a whole file in its syntax.

`FORMS` has a row for each server. Lines are templates (`rows`); a module per server has what a
template cannot say. `tlslab recommend` writes these files, reports quote them (`REPORTED`), and
`tlslab prove` takes them as candidates, of the servers whose files it reads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tlslab.advice.emit import caddy, domino, tomcat
from tlslab.advice.emit.offer import Offer, Preference, offer_of
from tlslab.advice.emit.rows import XML, Rows, comment, jsse_name
from tlslab.advice.setting_grade import Subject
from tlslab.domain.recommendation import FileDescription


@dataclass(frozen=True)
class Form:
    """A server's whole file: its `use` in words, the mark of its comments, its lines.

    `order` says how far the server keeps to the order. `lacks`: the subject for which the server
    has no setting.
    """

    title: str
    use: str
    order: str
    mark: str
    lines: Callable[[Offer], list[str]]
    lacks: Subject | None = None

    def about(self, offer: Offer) -> FileDescription:
        """What is said of the file."""
        waiting = tuple(group.name for group in offer.waiting)
        return FileDescription(self.title, self.use, self.order, offer.beside, waiting)

    def text(self, offer: Offer, comments: Sequence[str]) -> str | None:
        """The file, with sentences as comments at its head; None without a setting for it."""
        if offer.preference.subject == self.lacks:
            return None
        lines = self.lines(offer)
        if not lines:
            return None
        heads = [line for each in comments for line in comment(each, self.mark)]
        return "\n".join([*heads, *lines]) + "\n"


_OPENSSL_ORDER = (
    "the server's order decides; in TLS 1.3 a group for which a client sends a key share comes "
    "before those that the server prefers"
)
_JSSE_ORDER = "the server's order decides between suites, the client's between groups"

FORMS: Mapping[str, Form] = {
    "nginx": Form(
        "nginx",
        "include it in the block http or server",
        _OPENSSL_ORDER,
        "#",
        # Without the server's preference OpenSSL takes the client's order, of groups as well.
        Rows(
            "ssl_protocols $versions;",
            "ssl_prefer_server_ciphers on;",
            "ssl_ciphers $suites12;",
            "ssl_conf_command Ciphersuites $suites13;",
            "ssl_ecdh_curve $groups;",
        ),
    ),
    "apache": Form(
        "Apache httpd",
        "Include it in the virtual host or in the server's configuration",
        _OPENSSL_ORDER,
        "#",
        Rows(
            "SSLProtocol -all $versions",
            "SSLHonorCipherOrder on",
            "SSLCipherSuite $suites12",
            "SSLCipherSuite TLSv1.3 $suites13",
            "SSLOpenSSLConfCmd Groups $groups",
            version="+TLSv{}",
        ),
    ),
    "haproxy": Form(
        "HAProxy",
        "a configuration file beside yours (-f FILE -f YOURS), for all bind lines with ssl",
        f"{_OPENSSL_ORDER}; ChaCha20 comes first for clients that prefer it",
        "#",
        # Defaults of all `bind` lines; the server's order counts without `prefer-client-ciphers`.
        Rows(
            "global",
            "    ssl-default-bind-options ssl-min-ver TLSv$least ssl-max-ver TLSv$most",
            "    ssl-default-bind-ciphers $suites12",
            "    ssl-default-bind-ciphersuites $suites13",
            "    ssl-default-bind-curves $groups",
        ),
    ),
    "node": Form(
        "Node.js",
        "createSecureServer({ ...require('./FILE.js'), key, cert })",
        _OPENSSL_ORDER,
        "//",
        # One list has the suites of both versions; without one of TLS 1.3, TLS 1.3 is off.
        Rows(
            "module.exports = {",
            "  minVersion: 'TLSv$least',",
            "  maxVersion: 'TLSv$most',",
            "  honorCipherOrder: true,",
            "  ciphers: [",
            "    '$suite',",
            "  ].join(':'),",
            "  ecdhCurve: '$groups',",
            "};",
            mark="//",
        ),
    ),
    "caddy": Form(
        "Caddy",
        "import it in the block of the directive tls",
        "none: Go chooses between suites by itself; the file says what is offered",
        "#",
        caddy.lines,
    ),
    "tomcat": Form(
        "Tomcat",
        "a connector of server.xml, with one certificate",
        f"on the JVM's TLS {_JSSE_ORDER}; on OpenSSL {_OPENSSL_ORDER}",
        XML,
        tomcat.lines,
    ),
    "jvm": Form(
        "JVM",
        "java @FILE ..., for servers on JSSE that set nothing of the kind themselves",
        _JSSE_ORDER,
        "#",
        # Properties of JSSE (Reference Guide of JDK 25, "Customizing JSSE"), which ignores unknown
        # groups: hybrids need not wait.
        Rows(
            "-Djdk.tls.server.protocols=$newest",
            "-Djdk.tls.server.cipherSuites=$suites",
            "-Djdk.tls.namedGroups=$all_groups",
            separator=",",
            suite=lambda suite: suite.name,
            group=jsse_name,
        ),
    ),
    "rwserve": Form(
        "RWSERVE",
        "its configuration file",
        "not tested: RWSERVE cannot be had",
        "//",
        # The syntax follows the public configuration files of the server of the suites study. No
        # policy passes a suite of DHE, so that none needs the parameters.
        Rows(
            "server {",
            "    // ip-address, port: as they are; cluster-size: one worker for each processor",
            "    // diffie-hellman: only with suites that begin with DHE-",
            "    ciphers {",
            "        $suite12",
            "    }",
            "}",
            mark="//",
        ),
        lacks="group",
    ),
    "domino": Form(
        "HCL Domino",
        "notes.ini",
        "Domino has its own: what comes after the first is switched off; not tested, as Domino "
        "cannot be had",
        ";",
        domino.lines,
        lacks="suite",
    ),
    "openssl": Form(
        "OpenSSL",
        "OPENSSL_CONF=FILE, for programs that set nothing of the kind themselves",
        _OPENSSL_ORDER,
        "#",
        # config(5) and SSL_CONF_cmd(3).
        Rows(
            "openssl_conf = settings",
            "[settings]",
            "ssl_conf = applications",
            "[applications]",
            "system_default = all",
            "[all]",
            "MinProtocol = TLSv$least",
            "MaxProtocol = TLSv$most",
            "Options = ServerPreference",
            "CipherString = $suites12",
            "Ciphersuites = $suites13",
            "Groups = $groups",
        ),
    ),
}

# The servers whose files a report quotes.
REPORTED = ("nginx", "apache", "haproxy", "node", "rwserve", "domino")

__all__ = ["FORMS", "REPORTED", "Form", "Offer", "Preference", "offer_of"]
