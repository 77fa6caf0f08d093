"""Cipher suites in charts: drawn by OpenSSL's short names, shown by IANA's on hover."""

import re

from tlslab.model.names import find_suite

# What may be OpenSSL's name of a suite within a text.
_OPENSSL = re.compile(r"\b[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+\b")


def in_full(text: str) -> str:
    """The text with IANA's names behind it; empty where there is no suite with another name."""
    suites = [find_suite(name) for name in _OPENSSL.findall(text)]
    names = dict.fromkeys(each.name for each in suites if each and each.name not in text)
    return f"{text} ({', '.join(names)})" if names else ""
