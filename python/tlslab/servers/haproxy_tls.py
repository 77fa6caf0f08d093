"""HAProxy's configuration files, and the TLS part that a proof takes from them.

The syntax is that of HAProxy's own reader (parse_line): words between blanks, quotes and
backslashes as in a shell, `#` starts a comment. A keyword of a section starts a section.

A server is a `bind` line with `ssl`. Its options, and those that `ssl-default-bind-*` gives to all
such lines, are settings `bind OPTION [VALUE]` of their own.
"""

import os
import shlex
from collections.abc import Iterator, Sequence

from tlslab.servers.tls_part import (
    ConfigurationSyntaxError,
    Directive,
    Loader,
    Rows,
    Syntax,
    TlsPart,
)

# The keywords that start a section.
_SECTIONS = frozenset(
    {
        "acme",
        "backend",
        "cache",
        "crt-store",
        "defaults",
        "fcgi-app",
        "frontend",
        "global",
        "http-errors",
        "listen",
        "log-forward",
        "log-profile",
        "mailers",
        "peers",
        "program",
        "resolvers",
        "ring",
        "traces",
        "userlist",
    }
)

# The options of `bind` with a value (HAProxy 3.2, Configuration Manual, section 5.1).
_WITH_VALUE = frozenset(
    {
        "accept-netscaler-cip",
        "alpn",
        "backlog",
        "ca-file",
        "ca-ignore-err",
        "ca-sign-file",
        "ca-sign-pass",
        "ca-verify-file",
        "cc",
        "ciphers",
        "ciphersuites",
        "client-sigalgs",
        "crl-file",
        "crt",
        "crt-ignore-err",
        "crt-list",
        "curves",
        "default-crt",
        "ecdhe",
        "expose-fd",
        "gid",
        "group",
        "guid-prefix",
        "id",
        "idle-ping",
        "interface",
        "label",
        "level",
        "maxconn",
        "mode",
        "mss",
        "name",
        "namespace",
        "nbconn",
        "nice",
        "npn",
        "ocsp-update",
        "proto",
        "quic-cc-algo",
        "quic-socket",
        "severity-output",
        "shards",
        "sigalgs",
        "ssl-max-ver",
        "ssl-min-ver",
        "tcp-md5sig",
        "tcp-ss",
        "tcp-ut",
        "thread",
        "tls-ticket-keys",
        "uid",
        "user",
        "verify",
    }
)

_VERSIONS = (
    "ssl-min-ver",
    "ssl-max-ver",
    *(
        f"{how}-{version}"
        for how in ("no", "force")
        for version in ("sslv3", "tlsv10", "tlsv11", "tlsv12", "tlsv13")
    ),
)

# The options that are taken.
_OPTIONS = frozenset(
    {
        *_VERSIONS,
        "allow-0rtt",
        "ciphers",
        "ciphersuites",
        "client-sigalgs",
        "curves",
        "ecdhe",
        "no-tls-tickets",
        "prefer-client-ciphers",
        "sigalgs",
        "tls-tickets",
    }
)

# Options that are read, or say nothing of TLS.
_READ_OPTIONS = frozenset(
    {"alpn", "backlog", "crt", "crt-list", "default-crt", "name", "no-alpn", "ssl"}
)

# The options that replace the default of ALPN; the last one applies.
_PROTOCOLS = ("alpn", "no-alpn", "npn")

_CERTIFICATES = ("crt", "default-crt", "crt-list")

# What these give to all `bind` lines: the option of each, or options as they stand.
_DEFAULTS = {
    "ssl-default-bind-ciphers": "ciphers",
    "ssl-default-bind-ciphersuites": "ciphersuites",
    "ssl-default-bind-client-sigalgs": "client-sigalgs",
    "ssl-default-bind-curves": "curves",
    "ssl-default-bind-sigalgs": "sigalgs",
    "ssl-default-bind-options": "",
}

# The options that `ssl-default-bind-options` takes in all versions.
_DEFAULT_OPTIONS = (*_VERSIONS, "no-tls-tickets", "prefer-client-ciphers")


def _key(each: Directive) -> tuple[str, ...]:
    return (each.name, *each.args[:1]) if each.name == "bind" else (each.name,)


def _setting(words: Sequence[str]) -> tuple[str, ...]:
    """Each option is a setting of its own; those of versions are one together."""
    name, *args = words
    if name != "bind":
        return (name,)
    alike = {**dict.fromkeys(_VERSIONS, "versions"), "ecdhe": "curves", "tls-tickets": "tickets"}
    alike["no-tls-tickets"] = "tickets"
    return (name, *(alike.get(each, each) for each in args[:1]))


_ROWS = Rows(
    single=(
        "bind",
        "ssl-dh-param-file",
        "tune.ssl.cachesize",
        "tune.ssl.default-dh-param",
        "tune.ssl.hard-maxrecord",
        "tune.ssl.lifetime",
        "tune.ssl.maxrecord",
    ),
    files=("ssl-dh-param-file",),
    first={"bind": _OPTIONS},
    read=("ca-base", "crt-base", *_DEFAULTS),
    prefixes=("bind", "ssl-", "tune.ssl."),
    key=_key,
    # HAProxy reads $NAME as a variable in quotes, too.
    never_in_paths="$",
)


def read_directives(text: str, file: str, load: Loader) -> tuple[Directive, ...]:
    """The sections of a file, each with its lines. A setting may stand alone.

    HAProxy includes no files. Raises ConfigurationSyntaxError.
    """
    found: list[Directive] = []
    section: Directive | None = None
    inside: list[Directive] = []
    for each in (*_lines(text, file), None):
        if each is not None and each.name not in _SECTIONS:
            if section is None and each.name not in _ROWS.single:
                where = f"{each.file}:{each.line}"
                raise ConfigurationSyntaxError(f"{where}: {each.name} is in no section of HAProxy")
            (found if section is None else inside).append(each)
            continue
        if section is not None:
            found.append(Directive(section.name, section.args, file, section.line, tuple(inside)))
        section, inside = each, []
    return tuple(found)


def _lines(text: str, file: str) -> Iterator[Directive]:
    for number, line in enumerate(text.split("\n"), 1):
        reader = shlex.shlex(line, posix=True)
        reader.whitespace_split = True
        try:
            words = list(reader)
        except ValueError:
            raise ConfigurationSyntaxError(f"{file}:{number}: a quote is not closed") from None
        if words[:1] in ([".if"], [".elif"], [".else"]):
            raise ConfigurationSyntaxError(
                f"{file}:{number}: {words[0]} is not evaluated: leave out what does not apply"
            )
        if words and not words[0].startswith("."):
            yield Directive(words[0], tuple(words[1:]), file, number)


def _parts(directives: Sequence[Directive]) -> list[TlsPart]:
    """Each `bind` line with `ssl`; without a `bind` line, the text counts as one server."""
    outer = [
        option
        for section in directives
        if section.name == "global" or section.block is None
        for each in (section.block or (section,))
        for option in _options(each)
    ]
    bases = [each.args[0] for each in outer if each.name == "crt-base" and each.args]
    proxies = [each for each in directives if each.name in ("frontend", "listen")]
    binds = [
        (proxy, each) for proxy in proxies for each in proxy.block or () if each.name == "bind"
    ]
    if not binds:
        settings, ignored = _ROWS.merged((), outer)
        unread = _ROWS.unread(outer)
        return [TlsPart((), settings, (), http2=None, ignored=ignored, unread=unread)]
    return [
        _part(outer, proxy, list(_bind(each)), bases[-1] if bases else "")
        for proxy, each in binds
        if "ssl" in each.args and not each.args[0].startswith("quic")
    ]


def _part(
    outer: Sequence[Directive], proxy: Directive, options: Sequence[Directive], base: str
) -> TlsPart:
    beside = [each for each in proxy.block or () if each.name != "bind"]
    inner = (*(each for each in options if each.args[0] not in _READ_OPTIONS), *beside)
    settings, ignored = _ROWS.merged(outer, inner)
    by_name = {each.args[0]: each.args[1:] for each in options}
    certificates = [
        os.path.join(base, each.args[1])
        for each in options
        if each.args[0] in _CERTIFICATES and len(each.args) == 2
    ]
    return TlsPart(
        names=(*proxy.args[:1], *by_name.get("name", ())),
        settings=settings,
        # The key is in the certificate's file, or beside it.
        pairs=tuple((each, (each, f"{each}.key")) for each in certificates),
        http2=_http2(proxy, options),
        ignored=ignored,
        unread=_ROWS.unread(outer, inner),
    )


def _http2(proxy: Directive, options: Sequence[Directive]) -> bool | None:
    """Whether a `bind` line offers HTTP/2; None if HAProxy's default for HTTPS applies."""
    said = [each.args for each in options if each.args[0] in _PROTOCOLS]
    if said:
        return said[-1][0] == "alpn" and "h2" in said[-1][1].split(",")
    # The default is for HTTPS: TLS before any other protocol has none.
    modes = [each.args for each in proxy.block or () if each.name == "mode"]
    return False if modes[-1:] == [("tcp",)] else None


def _options(each: Directive) -> Iterator[Directive]:
    """What a line of `global` gives to all `bind` lines; any other line unchanged."""
    if each.name not in (*_DEFAULTS, "bind"):
        yield each
        return
    # `bind OPTION [VALUE]` is a setting as it is written.
    option = _DEFAULTS.get(each.name, "")
    yield from _split((option, *each.args) if option else each.args, each)


def _bind(each: Directive) -> Iterator[Directive]:
    """The options of a `bind` line; its address comes first."""
    return _split(each.args[1:], each)


def _split(words: Sequence[str], line: Directive) -> Iterator[Directive]:
    place = 0
    while place < len(words):
        end = place + (2 if words[place] in _WITH_VALUE else 1)
        if end > len(words):
            where = f"{line.file}:{line.line}"
            raise ConfigurationSyntaxError(f"{where}: {words[place]} has no value")
        yield Directive("bind", tuple(words[place:end]), line.file, line.line)
        place = end


def _text(lines: Sequence[str], http2: bool) -> Iterator[str]:
    """The sections of a file; options that `global` cannot have are on the `bind` line."""
    names = {option: name for name, option in _DEFAULTS.items() if option}
    together: list[str] = []
    alone: list[str] = []
    yield "global"
    for line in lines:
        name, _, rest = line.partition(" ")
        option, _, value = rest.partition(" ")
        if name != "bind":
            yield f"    {line}"
        elif option in names:
            yield f"    {names[option]} {value}"
        else:
            (together if option in _DEFAULT_OPTIONS else alone).append(rest)
    if together:
        yield f"    ssl-default-bind-options {' '.join(together)}"
    yield "frontend web"
    alone.append(f"alpn {'h2,' if http2 else ''}http/1.1")
    yield f"    bind :443 ssl {' '.join(alone)}"


HAPROXY = Syntax(
    server="haproxy",
    read=read_directives,
    parts=_parts,
    text=_text,
    rows=_ROWS,
    setting=_setting,
    has_tls="bind ... ssl",
    checks="haproxy -c -f FILE",
    shown="the settings of TLS alone",
)
