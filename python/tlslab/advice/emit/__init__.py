"""Configurations: one file for each server's syntax, each a pure function.

`SYNTAXES` has lines to paste, for reports: each takes a preference and returns a text, or None if
that server has no such setting. `FORMS` has whole files, for `tlslab recommend`: the complete offer
of a server, as far as it can be set.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tlslab.advice.emit import (
    apache,
    caddy,
    domino,
    haproxy,
    jvm,
    nginx,
    node,
    openssl,
    rwserve,
    tomcat,
)
from tlslab.advice.emit.lines import XML, comment
from tlslab.advice.emit.offer import Offer, offer_of
from tlslab.advice.preference import Preference


@dataclass(frozen=True)
class Syntax:
    """A server's syntax: its name, the file to which the text belongs, the emitter."""

    title: str
    place: str
    emit: Callable[[Preference], str | None]


SYNTAXES: Mapping[str, Syntax] = {
    "nginx": Syntax("nginx", "the http or server block", nginx.emit),
    "apache": Syntax(
        "Apache httpd", "the virtual host, or the server's configuration", apache.emit
    ),
    "haproxy": Syntax("HAProxy", "the section global", haproxy.emit),
    "node": Syntax("Node.js", "the options of https or http2.createSecureServer", node.emit),
    "rwserve": Syntax("RWSERVE", "its configuration file", rwserve.emit),
    "domino": Syntax("HCL Domino", "notes.ini", domino.emit),
}


@dataclass(frozen=True)
class Form:
    """A server's whole file: its `use` in words, the mark of its comments, its lines.

    `order` says how far the server keeps to the order. `lines` returns None if the server has no
    setting for the measured subject.
    """

    title: str
    use: str
    order: str
    mark: str
    lines: Callable[[Offer], list[str] | None]

    def text(self, offer: Offer, comments: Sequence[str]) -> str | None:
        """The file, with sentences as comments at its head."""
        lines = self.lines(offer)
        if lines is None:
            return None
        heads = [line for each in comments for line in comment(each, self.mark)]
        return "\n".join([*heads, *lines]) + "\n"


def _pasted(emit: Callable[[Preference], str | None]) -> Callable[[Offer], list[str] | None]:
    """The lines of a syntax that covers only the measured subject."""

    def lines(offer: Offer) -> list[str] | None:
        text = emit(offer.preference)
        return None if text is None else text.splitlines()

    return lines


_OPENSSL_ORDER = (
    "the server's order decides; in TLS 1.3 a group for which a client sends a key share comes "
    "before those that the server prefers"
)
_JSSE_ORDER = "the server's order decides between suites, the client's between groups"

FORMS: Mapping[str, Form] = {
    "nginx": Form(
        "nginx", "include it in the block http or server", _OPENSSL_ORDER, "#", nginx.whole
    ),
    "apache": Form(
        "Apache httpd",
        "Include it in the virtual host or in the server's configuration",
        _OPENSSL_ORDER,
        "#",
        apache.whole,
    ),
    "haproxy": Form(
        "HAProxy",
        "a configuration file beside yours (-f FILE -f YOURS), for all bind lines with ssl",
        f"{_OPENSSL_ORDER}; ChaCha20 comes first for clients that prefer it",
        "#",
        haproxy.whole,
    ),
    "node": Form(
        "Node.js",
        "createSecureServer({ ...require('./FILE.js'), key, cert })",
        _OPENSSL_ORDER,
        "//",
        node.whole,
    ),
    "caddy": Form(
        "Caddy",
        "import it in the block of the directive tls",
        "none: Go chooses between suites by itself; the file says what is offered",
        "#",
        caddy.whole,
    ),
    "tomcat": Form(
        "Tomcat",
        "a connector of server.xml, with one certificate",
        f"on the JVM's TLS {_JSSE_ORDER}; on OpenSSL {_OPENSSL_ORDER}",
        XML,
        tomcat.whole,
    ),
    "jvm": Form(
        "JVM",
        "java @FILE ..., for servers on JSSE that set nothing of the kind themselves",
        _JSSE_ORDER,
        "#",
        jvm.whole,
    ),
    "rwserve": Form(
        "RWSERVE",
        "its configuration file",
        "not tested: RWSERVE cannot be had",
        "//",
        _pasted(rwserve.emit),
    ),
    "domino": Form(
        "HCL Domino",
        "notes.ini",
        "Domino has its own: what comes after the first is switched off; not tested, as Domino "
        "cannot be had",
        ";",
        _pasted(domino.emit),
    ),
    "openssl": Form(
        "OpenSSL",
        "OPENSSL_CONF=FILE, for programs that set nothing of the kind themselves",
        _OPENSSL_ORDER,
        "#",
        openssl.whole,
    ),
}

__all__ = ["FORMS", "SYNTAXES", "Form", "Offer", "Syntax", "offer_of"]
