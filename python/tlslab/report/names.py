"""Short names: cipher suites by OpenSSL's names, factors in words."""

import re

from markupsafe import Markup, escape

from tlslab.domain.factors import FACTORS
from tlslab.domain.names import SUITES, find_suite

# IANA's names of suites within a text.
_IANA = re.compile(r"\bTLS_[A-Z0-9_]+\b")

# Possible names of suites within a text, IANA's or OpenSSL's.
_EITHER = re.compile(rf"{_IANA.pattern}|\b[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+\b")

# IANA's names by OpenSSL's, if the two differ.
_LONG = {suite.openssl: suite.name for suite in SUITES if suite.openssl != suite.name}


def factor_words(name: str) -> str:
    """A factor as the heading of a column."""
    row = FACTORS.get(name)
    return (row and row.heading) or name.replace("_", " ")


def short(text: str) -> str:
    """The text with OpenSSL's names for its suites."""
    return _IANA.sub(lambda match: _openssl(match[0]), text)


def long_names(text: str) -> str:
    """IANA's names of the suites that `short` replaces in a text; empty for none."""
    names = [name for name in _IANA.findall(text) if _openssl(name) != name]
    return ", ".join(dict.fromkeys(names))


def with_hover(text: str) -> Markup:
    """A sanitised text, escaped, with short names that show IANA's on hover."""
    escaped = str(escape(text))
    return Markup(_EITHER.sub(_abbreviation, escaped))


def _abbreviation(match: re.Match[str]) -> str:
    short_name = _openssl(match[0])
    long_name = _LONG.get(short_name)
    return match[0] if long_name is None else f'<abbr title="{long_name}">{short_name}</abbr>'


def _openssl(name: str) -> str:
    suite = find_suite(name)
    return suite.openssl if suite else name
