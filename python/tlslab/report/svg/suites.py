"""Cipher suites in charts: OpenSSL's short names, with IANA's on hover."""

import re

from tlslab.domain.names import find_suite

# Possible OpenSSL names of suites within a text.
_OPENSSL = re.compile(r"\b[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+\b")


def in_full(text: str) -> str:
    """The text followed by IANA's names; empty if it has no suite with another name."""
    suites = [find_suite(name) for name in _OPENSSL.findall(text)]
    names = dict.fromkeys(each.name for each in suites if each and each.name not in text)
    return f"{text} ({', '.join(names)})" if names else ""
