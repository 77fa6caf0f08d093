"""The TLS part of an nginx configuration: the directives that a proof takes from a user's file.

Only directives of TLS are taken, each by name and with values that only TLS settings have. Other
content of the file is never executed.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlslab.domain.configuration import Configuration
from tlslab.servers.nginx_file import Directive, NginxSyntaxError, read_directives

# Taken unchanged; the last one of a block applies.
_SINGLE = (
    "ssl_protocols",
    "ssl_ciphers",
    "ssl_prefer_server_ciphers",
    "ssl_ecdh_curve",
    "ssl_session_cache",
    "ssl_session_timeout",
    "ssl_session_tickets",
    "ssl_buffer_size",
    "ssl_early_data",
    "ssl_dhparam",
)
# All of a block apply together.
_REPEATED = ("ssl_conf_command", "ssl_certificate", "ssl_certificate_key")

# Commands of OpenSSL's configuration that set TLS up and read no file.
_COMMANDS = frozenset(
    {
        "CipherString",
        "Ciphersuites",
        "ClientSignatureAlgorithms",
        "Curves",
        "Groups",
        "MaxProtocol",
        "MinProtocol",
        "NumTickets",
        "Options",
        "SignatureAlgorithms",
    }
)

# Read, but not part of TLS.
_READ = ("listen", "http2", "server_name")

_CERTIFICATES = ("ssl_certificate", "ssl_certificate_key")

# No path may contain characters that end a line.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

# The characters in values of TLS settings, none of which ends a word or a directive.
_VALUE = re.compile(r"[A-Za-z0-9_.:+!@=,/-]+")


class NginxChoiceError(Exception):
    """The file has no server to take, or several; the message says which."""


@dataclass(frozen=True)
class NginxTls:
    """The TLS part of one server.

    `settings`: directives with their values. `pairs`: the files of certificates and private keys
    (an empty name: not given). `names`: the server's. `ignored`: the directives that were left out,
    each with the place.
    """

    names: tuple[str, ...]
    settings: tuple[Directive, ...]
    pairs: tuple[tuple[str, str], ...]
    http2: bool
    ignored: tuple[str, ...]


def tls_part(directives: Sequence[Directive], server_name: str | None = None) -> NginxTls:
    """The TLS part of the server with this name, or of the only one with TLS.

    Without a block `server`, the directives count as those of one server. Raises NginxChoiceError.
    """
    servers = list(_servers(directives, ()))
    if not servers:
        return _part((), directives)
    parts = [_part(outer, server.block or ()) for outer, server in servers if _has_tls(server)]
    if server_name is not None:
        parts = [part for part in parts if server_name in part.names]
        if not parts:
            raise NginxChoiceError(f"no server with TLS has the name {server_name}")
    if not parts:
        raise NginxChoiceError("no server in it has TLS (`listen ... ssl`)")
    if any(_same(part) != _same(parts[0]) for part in parts):
        names = ", ".join(dict.fromkeys(name for part in parts for name in part.names[:1]))
        raise NginxChoiceError(f"it has {len(parts)} servers with different TLS: {names}")
    return parts[0]


def _same(part: NginxTls) -> object:
    """The parts that must be equal for two servers to count as one in a proof."""
    return [(each.name, each.args) for each in part.settings], part.pairs, part.http2


def _servers(
    directives: Iterable[Directive], outer: tuple[Directive, ...]
) -> Iterable[tuple[tuple[Directive, ...], Directive]]:
    """Each block `server` of HTTP, with the directives around it."""
    listed = tuple(directives)
    around = (*outer, *(each for each in listed if each.block is None))
    for each in listed:
        if each.name == "server" and each.block is not None:
            yield around, each
        elif each.name == "http" and each.block is not None:
            yield from _servers(each.block, around)


def _has_tls(server: Directive) -> bool:
    inside = server.block or ()
    return any(
        (each.name == "listen" and ("ssl" in each.args or "quic" in each.args))
        or (each.name == "ssl" and each.args == ("on",))
        or each.name == "ssl_certificate"
        for each in inside
    )


def _part(outer: Sequence[Directive], inner: Sequence[Directive]) -> NginxTls:
    taken: dict[str, list[Directive]] = {}
    ignored: list[str] = []
    for level in (outer, inner):
        own: dict[str, list[Directive]] = {}
        for each in level:
            if each.name not in (*_SINGLE, *_REPEATED) or not _known(each):
                # A server's surroundings are nginx's whole set-up: naming them would bury the rest.
                named = level is inner and each.name not in _READ
                if named or each.name.startswith("ssl_"):
                    ignored.append(_place(each))
                continue
            earlier = own.get(each.name, []) if each.name in _REPEATED else []
            own[each.name] = [*earlier, each]
        # A directive of the server replaces all outer ones of the same name.
        taken |= own
    settings = tuple(
        each for name, found in taken.items() for each in found if name not in _CERTIFICATES
    )
    certificates, keys = ([each.args[0] for each in taken.get(name, ())] for name in _CERTIFICATES)
    return NginxTls(
        names=tuple(name for each in inner if each.name == "server_name" for name in each.args),
        settings=settings,
        pairs=tuple(_paired(certificates, keys)),
        http2=_http2(outer, inner),
        ignored=tuple(dict.fromkeys(ignored)),
    )


def _http2(outer: Sequence[Directive], inner: Sequence[Directive]) -> bool:
    """The rule of nginx: HTTP/2 by a `listen`, whatever else is set; or by the innermost
    `http2`.
    """
    if any(each.name == "listen" and "http2" in each.args for each in inner):
        return True
    said = [each.args for each in (*outer, *inner) if each.name == "http2"]
    return said[-1:] == [("on",)]


def _known(each: Directive) -> bool:
    """Whether the form of a directive can be taken."""
    if each.block is not None or not each.args:
        return False
    if each.name in _CERTIFICATES:
        return len(each.args) == 1
    if each.name == "ssl_dhparam":
        return len(each.args) == 1 and not _CONTROL.search(each.args[0])
    if each.name == "ssl_conf_command" and each.args[0] not in _COMMANDS:
        return False
    return all(_VALUE.fullmatch(value) for value in each.args)


def written(name: str, args: Sequence[str]) -> str:
    """A directive that nginx reads back unchanged: any path stays one word."""
    words = (each if _VALUE.fullmatch(each) else _quoted(each) for each in args)
    return f"{name} {' '.join(words)};"


def _quoted(word: str) -> str:
    inside = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'


def is_setting(line: str) -> bool:
    """Whether a line is one directive that a proof takes, exactly in the form of `written`."""
    try:
        found = read_directives(line, "", lambda pattern: {})
    except NginxSyntaxError:
        return False
    return [written(each.name, each.args) for each in found if _is_taken(each)] == [line]


def at_fault(found: Configuration, words: str) -> str:
    """The place and the directive that nginx's words are about: `my.conf:3: ssl_protocols TLSv1.9`.

    The name of the file alone if no directive has what the words quote.
    """
    said = set(re.findall(r'"([^"]+)"', words))
    lines = [each for each in found.lines if said & set(each.removesuffix(";").split())]
    lines += [each for each in found.lines if any(value in each for value in said)]
    if not lines:
        return found.source
    return f"{_place_in(found.source, lines[0])}: {lines[0].removesuffix(';')}"


def _place_in(file: str, line: str) -> str:
    """The file and the line of a directive; the file alone if the directive is elsewhere."""
    try:
        directives = read_directives(Path(file).read_text("utf-8"), file, lambda pattern: {})
    except (OSError, UnicodeDecodeError, NginxSyntaxError):
        return file
    left = list(directives)
    while left:
        each = left.pop()
        left += each.block or ()
        if each.block is None and written(each.name, each.args) == line:
            return f"{each.file}:{each.line}"
    return file


def _is_taken(each: Directive) -> bool:
    return each.name in (*_SINGLE, "ssl_conf_command") and _known(each)


def _paired(certificates: Sequence[str], keys: Sequence[str]) -> Iterable[tuple[str, str]]:
    for number, certificate in enumerate(certificates):
        yield certificate, keys[number] if number < len(keys) else ""


def _place(each: Directive) -> str:
    words = each.name if each.name != "ssl_conf_command" else " ".join((each.name, *each.args[:1]))
    return f"{words} (line {each.line})"
