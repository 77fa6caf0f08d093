"""Apache's configuration files, and the TLS part that a proof takes from them.

The syntax is that of Apache's own reader (ap_cfg_getline, ap_getword_conf): a directive for each
line, which a backslash at its end continues; words between blanks, in quotes or not; blocks
`<Name ...>` to `</Name>`. Names are the same in any case.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tlslab.servers.tls_part import (
    COMMANDS,
    ConfigurationSyntaxError,
    Directive,
    Loader,
    Rows,
    Syntax,
    TlsPart,
)

# A file with deeper includes must include itself.
DEPTH = 16

_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|(\S+)')

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

# Other TLS modules: what is said for them is not said for mod_ssl.
_OTHERS = ("gnutls", "nss")

_CERTIFICATES = ("SSLCertificateFile", "SSLCertificateKeyFile")

# A session cache in memory; its path is the lab's, its size the user's.
_IN_MEMORY = re.compile(r"shmcb(?::[^()]*)?(\(\d+\))?")


def _key(each: Directive) -> tuple[str, ...]:
    return _setting((each.name, *each.args))


def _setting(words: Sequence[str]) -> tuple[str, ...]:
    """Each command of OpenSSL is a setting of its own, and so are the suites of TLS 1.3."""
    name, *args = words
    if name == "SSLOpenSSLConfCmd":
        # Curves is the older name of Groups.
        return name, *("Groups" if each == "Curves" else each for each in args[:1])
    if name == "SSLCipherSuite" and args[:1] == ["TLSv1.3"]:
        return name, "TLSv1.3"
    return (name,)


_ROWS = Rows(
    single=(
        "SSLProtocol",
        "SSLCipherSuite",
        "SSLHonorCipherOrder",
        "SSLSessionCache",
        "SSLSessionCacheTimeout",
        "SSLSessionTickets",
    ),
    repeated=("SSLOpenSSLConfCmd",),
    first={"SSLOpenSSLConfCmd": COMMANDS},
    read=("Protocols", "SSLEngine", "ServerAlias", "ServerName", "ServerRoot", *_CERTIFICATES),
    # Blocks under a condition are left out, and named.
    prefixes=("SSL", "If"),
    includes=("Include", "IncludeOptional", "Use"),
    key=_key,
    values={"SSLSessionCache": re.compile(r"none|nonenotnull|shmcb:sessions(\(\d+\))?")},
)

# The names as they are written; Apache's own may be in any case.
_NAMES = {
    name.casefold(): name
    for name in (
        *_ROWS.single,
        *_ROWS.repeated,
        *_ROWS.read,
        *_ROWS.includes,
        *("IfModule", "VirtualHost"),
    )
}


@dataclass
class _Reader:
    """One reading of a file with its included files; `root` is the last `ServerRoot`."""

    load: Loader
    root: str = ""
    # The blocks that are open, with their directives.
    open: list[tuple[Directive, list[Directive]]] = field(default_factory=list)

    def read(self, text: str, file: str, depth: int = DEPTH) -> list[Directive]:
        found: list[Directive] = []
        outer, self.open = self.open, []
        for number, line in _lines(text):
            self._line(line, file, number, depth, found)
        if self.open:
            block, _ = self.open[0]
            raise ConfigurationSyntaxError(f"{file}:{block.line}: <{block.name}> is not closed")
        self.open = outer
        return found

    def _line(self, line: str, file: str, number: int, depth: int, top: list[Directive]) -> None:
        into = self.open[-1][1] if self.open else top
        if line.startswith("</"):
            self._close(line[2:].rstrip("> ").casefold(), f"{file}:{number}", top)
        elif line.startswith("<"):
            if not line.endswith(">"):
                raise ConfigurationSyntaxError(f"{file}:{number}: '>' is missing: {line}")
            self.open.append((_directive(line[1:-1], file, number), []))
        else:
            each = _directive(line, file, number)
            if each.name == "ServerRoot" and each.args:
                self.root = each.args[0]
            into += self._included(each, depth)

    def _close(self, name: str, where: str, top: list[Directive]) -> None:
        if not self.open or self.open[-1][0].name.casefold() != name:
            raise ConfigurationSyntaxError(f"{where}: </{name}> closes no block")
        block, inside = self.open.pop()
        into = self.open[-1][1] if self.open else top
        if block.name != "IfModule":
            into.append(replace(block, block=tuple(inside)))
        elif block.args and _holds(block.args[0]):
            into += inside

    def _included(self, each: Directive, depth: int) -> Iterator[Directive]:
        """The directive; in place of an `Include` its files, as far as they can be read."""
        if each.name not in _ROWS.includes or len(each.args) != 1:
            yield each
            return
        files = self.load(os.path.join(self.root, each.args[0]))
        if files and depth == 0:
            raise ConfigurationSyntaxError(f"{each.file}:{each.line}: a file includes itself")
        # Apache knows the values of variables.
        if not files and (each.name == "Include" or "${" in each.args[0]):
            yield each
        for name, text in files.items():
            if text is None:
                yield replace(each, args=(name,))
            else:
                yield from self.read(text, name, depth - 1)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with its number, joined with those that continue it; without comments."""
    whole, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        first = first if whole else number
        if line.endswith("\\"):
            whole += line[:-1]
            continue
        whole = (whole + line).strip()
        if whole and not whole.startswith("#"):
            yield first, whole
        whole = ""
    if whole.strip():
        yield first, whole.strip()


def _directive(line: str, file: str, number: int) -> Directive:
    words = [
        re.sub(r"\\([\\\"'])", r"\1", double or single) or bare
        for double, single, bare in _WORD.findall(line)
    ]
    if not words or not _NAME.fullmatch(words[0]):
        raise ConfigurationSyntaxError(f"{file}:{number}: no directive of Apache: {line}")
    return Directive(_NAMES.get(words[0].casefold(), words[0]), tuple(words[1:]), file, number)


def _holds(module: str) -> bool:
    """Whether an `IfModule` counts: modules are there, except other ones for TLS."""
    return not module.startswith("!") and not any(each in module for each in _OTHERS)


def read_directives(text: str, file: str, load: Loader) -> tuple[Directive, ...]:
    """The directives of a file, or of what `apachectl -t -D DUMP_CONFIG` shows.

    Included files take the place of their `Include`; the content of `IfModule` counts unless the
    module must be absent. Raises ConfigurationSyntaxError.
    """
    return tuple(_Reader(load).read(text, file))


def _parts(directives: Sequence[Directive]) -> list[TlsPart]:
    """Each virtual host with TLS; without a virtual host, the directives count as one server's."""
    hosts = [each for each in directives if each.name == "VirtualHost"]
    around = [each for each in directives if each not in hosts]
    if not hosts:
        return [_part((), directives)]
    insides = (each.block or () for each in hosts)
    return [_part(around, inside) for inside in insides if _has_tls(around, inside)]


def _has_tls(outer: Sequence[Directive], inner: Sequence[Directive]) -> bool:
    said = [each.casefold() for each in _values("SSLEngine", (*outer, *inner))]
    if said:
        return said[-1] in ("on", "optional")
    return any(each.name == "SSLCertificateFile" for each in inner)


def _part(outer: Sequence[Directive], inner: Sequence[Directive]) -> TlsPart:
    settings, ignored = _ROWS.merged(
        *([_normal(each) for each in level] for level in (outer, inner))
    )
    both = (*outer, *inner)
    root = next(iter(_values("ServerRoot", both[::-1])), "")
    certificates, keys = (
        [os.path.join(root, file) for file in _values(name, inner) or _values(name, outer)]
        for name in _CERTIFICATES
    )
    protocols = [each.args for each in both if each.name == "Protocols"]
    return TlsPart(
        names=tuple(
            # A ServerName may have scheme and port.
            name.rpartition("//")[2].partition(":")[0]
            for each in inner
            if each.name in ("ServerName", "ServerAlias")
            for name in each.args
        ),
        settings=settings,
        # Without a file of its own, the key is in that of the certificate.
        pairs=tuple(
            (each, tuple(keys[at : at + 1]) or (each,)) for at, each in enumerate(certificates)
        ),
        http2=bool(protocols) and "h2" in protocols[-1],
        ignored=ignored,
        unread=_ROWS.unread(outer, inner),
    )


def _values(name: str, level: Sequence[Directive]) -> list[str]:
    return [each.args[0] for each in level if each.name == name and len(each.args) == 1]


def _normal(each: Directive) -> Directive:
    """A directive in the one form in which it is written; a cache in memory is the lab's."""
    if each.name == "SSLCipherSuite" and each.args[:1] == ("SSL",):
        return replace(each, args=each.args[1:])
    if each.name == "SSLSessionCache" and len(each.args) == 1:
        found = _IN_MEMORY.fullmatch(each.args[0])
        return replace(each, args=(f"shmcb:sessions{found[1] or ''}",)) if found else each
    return each


def _text(lines: Sequence[str], http2: bool) -> Sequence[str]:
    return (f"Protocols {'h2 ' if http2 else ''}http/1.1", *lines)


APACHE = Syntax(
    server="apache",
    read=read_directives,
    parts=_parts,
    text=_text,
    rows=_ROWS,
    setting=_setting,
    has_tls="SSLEngine on",
    checks="apachectl -t",
    shown="what `apachectl -t -D DUMP_CONFIG` shows",
)
