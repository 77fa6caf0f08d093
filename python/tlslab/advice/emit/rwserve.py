"""RWSERVE, the server of the suites study: a block of suites by OpenSSL's names, one per line.

The syntax, with blocks in braces and comments after `//`, follows its public configuration files.
"""

from tlslab.advice.emit.lines import heading, openssl_suites
from tlslab.advice.preference import Preference


def emit(preference: Preference) -> str | None:
    """The `ciphers` block; it has no setting for groups."""
    if preference.subject != "suite":
        return None
    suites = openssl_suites(preference)
    if not suites:
        return None
    lines = heading(preference, "//")
    lines += ["server {", "    ciphers {"]
    lines += [f"        {suite}" for suite in suites]
    lines += ["    }", "}"]
    return "\n".join(lines) + "\n"
