"""Configurations to be pasted: one file for each server's syntax, each a pure function.

Each takes a preference and gives a text, or None where that server has no such setting.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tlslab.advice.emit import apache, domino, haproxy, nginx, node, rwserve
from tlslab.advice.preference import Preference


@dataclass(frozen=True)
class Syntax:
    """A server's syntax: how it is called, the file that the text belongs into, the emitter."""

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

__all__ = ["SYNTAXES", "Syntax"]
