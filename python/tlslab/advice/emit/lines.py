"""Shared parts of the emitters: comments, and OpenSSL's names."""

import re
import textwrap
from collections.abc import Iterable, Sequence

from tlslab.advice.preference import Preference
from tlslab.domain.names import Group, Suite, find_group, find_suite

# The only recommended suites of TLS 1.3, in the order of RFC 8446.
TLS13_SUITES = (
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
)

_WIDTH = 96

# What a line with hybrids for newer libraries has, if the order of groups was measured.
WHOLE_ORDER = "the whole order"

# The mark of comments that must be closed.
XML = "<!--"

# ASCII replacements in comments for other characters of the project's own sentences.
_SPELT = str.maketrans({"µ": "u", "≥": ">=", "–": "-"})


def openssl_suites(preference: Preference) -> tuple[str, ...]:
    """The preferred TLS 1.2 suites by the names of OpenSSL's cipher lists."""
    suites = (find_suite(name) for name in preference.names)
    return tuple(suite.openssl for suite in suites if suite is not None and suite.tls == "1.2")


def openssl_groups(preference: Preference, server: str) -> tuple[str, ...]:
    """The preferred groups by OpenSSL's names; hybrids only if this server was seen to support
    them.

    A name that its library does not know keeps a server from starting.
    """
    seen = preference.server == server
    return tuple(g.openssl for g in _groups(preference) if seen or not is_hybrid(g))


def is_hybrid(group: Group) -> bool:
    """Whether a group contains a KEM, which OpenSSL has since 3.5."""
    return "MLKEM" in group.name


def _groups(preference: Preference) -> list[Group]:
    return [group for name in preference.names if (group := find_group(name)) is not None]


def newer_groups(preference: Preference, given: Sequence[str], line: str, mark: str) -> list[str]:
    """A comment with the line (`{}`: the list) of all groups, hybrids at their measured place.

    Empty if nothing is missing in the `given` ones.
    """
    all_groups = tuple(group.openssl for group in _groups(preference))
    if all_groups == tuple(given):
        return []
    words = f"With OpenSSL 3.5 or later, {WHOLE_ORDER}:"
    return [*comment(words, mark), f"{mark} {line.format(':'.join(all_groups))}"]


def joined(names: Iterable[Suite | Group]) -> str:
    """OpenSSL's names in the syntax of its lists."""
    return ":".join(each.openssl for each in names)


def heading(preference: Preference, mark: str) -> list[str]:
    """Comment lines: what the order is, and where it comes from."""
    return [line for each in preference.head for line in comment(each, mark)]


def comment(text: str, mark: str) -> list[str]:
    """A text as comment lines. A server's own text cannot end the comment."""
    spelt = text.translate(_SPELT)
    printable = "".join(c if c.isascii() and c.isprintable() else " " for c in spelt)
    words = " ".join(printable.split())
    if mark == XML:
        # Two hyphens end a comment of XML.
        wrapped = textwrap.wrap(re.sub("-(?=-)", "- ", words), _WIDTH)
        return [f"{mark} {line} -->" for line in wrapped]
    wrapped = textwrap.wrap(words, _WIDTH, subsequent_indent="  ")
    return [f"{mark} {line}" for line in wrapped]


def openssl_configuration(
    preference: Preference, server: str, base: Sequence[str], suites_line: str, groups_line: str
) -> str | None:
    """A configuration by OpenSSL's names, `#` before comments; None if nothing is left to order.

    `{}` in each line is the place of the list.
    """
    lines = [*heading(preference, "#"), *base]
    if preference.subject == "suite":
        suites = openssl_suites(preference)
        return "\n".join([*lines, suites_line.format(":".join(suites)), ""]) if suites else None
    groups = openssl_groups(preference, server)
    if not groups:
        return None
    lines.append(groups_line.format(":".join(groups)))
    lines += newer_groups(preference, groups, groups_line, "#")
    return "\n".join([*lines, ""])
