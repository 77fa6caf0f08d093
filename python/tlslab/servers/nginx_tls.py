"""The TLS part of an nginx configuration: the directives that a proof takes from a user's file."""

from collections.abc import Iterable, Sequence

from tlslab.servers.nginx_file import read_directives
from tlslab.servers.tls_part import COMMANDS, Directive, Rows, Syntax, TlsPart

_CERTIFICATES = ("ssl_certificate", "ssl_certificate_key")

_ROWS = Rows(
    single=(
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
    ),
    repeated=("ssl_conf_command",),
    files=("ssl_dhparam",),
    first={"ssl_conf_command": COMMANDS},
    read=("listen", "http2", "server_name", *_CERTIFICATES),
    prefixes=("ssl_",),
    includes=("include",),
)


def _parts(directives: Sequence[Directive]) -> list[TlsPart]:
    """Each server with TLS; without a block `server`, the directives count as those of one."""
    servers = list(_servers(directives, ()))
    if not servers:
        return [_part((), directives)]
    return [_part(outer, server.block or ()) for outer, server in servers if _has_tls(server)]


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


def _part(outer: Sequence[Directive], inner: Sequence[Directive]) -> TlsPart:
    settings, ignored = _ROWS.merged(outer, inner)
    certificates, keys = (_paths(name, outer, inner) for name in _CERTIFICATES)
    return TlsPart(
        names=tuple(name for each in inner if each.name == "server_name" for name in each.args),
        settings=settings,
        pairs=tuple((each, tuple(keys[at : at + 1])) for at, each in enumerate(certificates)),
        http2=_http2(outer, inner),
        ignored=ignored,
        unread=_ROWS.unread(outer, inner),
    )


def _paths(name: str, outer: Sequence[Directive], inner: Sequence[Directive]) -> list[str]:
    """The files of a directive that may be repeated: a server's own replace those around it."""
    own, around = (
        [each.args[0] for each in level if each.name == name and len(each.args) == 1]
        for level in (inner, outer)
    )
    return own or around


def _http2(outer: Sequence[Directive], inner: Sequence[Directive]) -> bool:
    """The rule of nginx: HTTP/2 by a `listen`, whatever else is set; or by the innermost
    `http2`.
    """
    if any(each.name == "listen" and "http2" in each.args for each in inner):
        return True
    said = [each.args for each in (*outer, *inner) if each.name == "http2"]
    return said[-1:] == [("on",)]


def _setting(words: Sequence[str]) -> tuple[str, ...]:
    """Each command of `ssl_conf_command` is a setting of its own."""
    return tuple(words[: 2 if words[0] == "ssl_conf_command" else 1])


def _text(lines: Sequence[str], http2: bool) -> Iterable[str]:
    return (*(["http2 on;"] if http2 else []), *lines)


NGINX = Syntax(
    server="nginx",
    read=read_directives,
    parts=_parts,
    text=_text,
    rows=_ROWS,
    setting=_setting,
    has_tls="listen ... ssl",
    checks="nginx -t",
    shown="what `nginx -T` shows",
    end=";",
)
