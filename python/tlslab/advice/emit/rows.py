"""A configuration by templates of its lines; comments."""

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from string import Template

from tlslab.advice.emit.offer import Offer
from tlslab.domain.names import Group, Suite

_WIDTH = 96

# The mark of comments that must be closed.
XML = "<!--"

# ASCII replacements in comments for other characters of the project's own sentences.
_SPELT = str.maketrans({"µ": "u", "≥": ">=", "–": "-"})

# JSSE's and Tomcat's names of groups that differ from OpenSSL's.
_JSSE = {"X25519": "x25519", "X448": "x448", "P-256": "secp256r1"}


def jsse_name(group: Group) -> str:
    """The group's name in JSSE and Tomcat."""
    return _JSSE.get(group.name, group.openssl)


class Rows:
    """The lines of a file, by templates (`string.Template`).

    Fields: `$versions` and `$newest` (the newest first), `$least`, `$most`; `$suites12`,
    `$suites13`, `$suites` (both); `$groups`, `$all_groups` (with hybrids that wait). A line whose
    list is empty is left out. A line with `$suite` or `$suite12` is repeated for each suite. After
    the line of groups, a comment has the line with hybrids for newer libraries.
    """

    def __init__(
        self,
        *rows: str,
        version: str = "TLSv{}",
        separator: str = ":",
        mark: str = "#",
        suite: Callable[[Suite], str] = lambda suite: suite.openssl,
        group: Callable[[Group], str] = lambda group: group.openssl,
    ) -> None:
        self._rows, self._version, self._separator, self._mark = rows, version, separator, mark
        self._suite, self._group = suite, group

    def __call__(self, offer: Offer) -> list[str]:
        """The lines for an offer."""
        fields = self._fields(offer)
        return [line for row in self._rows for line in self._lines(row, offer, fields)]

    def _fields(self, offer: Offer) -> Mapping[str, str]:
        versions = [self._version.format(tls) for tls in offer.versions]
        apart = self._separator if self._separator == "," else " "
        suites12, suites13, groups, all_groups = (
            self._separator.join(names)
            for names in (
                map(self._suite, offer.suites12),
                map(self._suite, offer.suites13),
                map(self._group, offer.groups),
                map(self._group, offer.all_groups),
            )
        )
        return {
            "versions": apart.join(versions),
            "newest": apart.join(reversed(versions)),
            "least": offer.versions[0],
            "most": offer.versions[-1],
            "suites12": suites12,
            "suites13": suites13,
            "suites": self._separator.join(filter(None, (suites13, suites12))),
            "groups": groups,
            "all_groups": all_groups,
        }

    def _lines(self, row: str, offer: Offer, fields: Mapping[str, str]) -> Iterator[str]:
        template = Template(row)
        (field,) = template.get_identifiers()[:1] or ("",)
        if field in ("suite", "suite12"):
            both = (*offer.suites13, *offer.suites12)
            for suite in both if field == "suite" else offer.suites12:
                yield template.substitute({field: self._suite(suite)})
        elif fields.get(field, field or "text"):
            yield template.substitute(fields)
        if field == "groups" and offer.waiting:
            indent = row[: len(row) - len(row.lstrip())]
            waiting = template.substitute(groups=fields["all_groups"]).lstrip()
            words = f"With OpenSSL 3.5 or later, {offer.order_of_all}:"
            for line in (*comment(words, self._mark), f"{self._mark} {waiting}"):
                yield f"{indent}{line}"


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


def joined(names: Sequence[Suite | Group]) -> str:
    """OpenSSL's names in the syntax of its lists."""
    return ":".join(each.openssl for each in names)
