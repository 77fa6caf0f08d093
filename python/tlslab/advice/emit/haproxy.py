"""HAProxy: defaults of all `bind` lines with `ssl`, in the section `global`."""

from tlslab.advice.emit.lines import comment, heading, hybrids, openssl_groups, openssl_suites
from tlslab.advice.preference import Preference

# The server's order counts unless `prefer-client-ciphers` is set.
_BASE = ["ssl-default-bind-options ssl-min-ver TLSv1.2"]


def emit(preference: Preference) -> str | None:
    """`ssl-default-bind-ciphers` or `ssl-default-bind-curves`."""
    lines = heading(preference, "#") + _BASE
    if preference.subject == "suite":
        suites = openssl_suites(preference)
        if not suites:
            return None
        lines.append(f"ssl-default-bind-ciphers {':'.join(suites)}")
        return "\n".join(lines) + "\n"
    groups = openssl_groups(preference, "haproxy")
    if not groups:
        return None
    lines.append(f"ssl-default-bind-curves {':'.join(groups)}")
    if extra := hybrids(preference, "haproxy"):
        lines += comment("With OpenSSL 3.5 or later:", "#")
        lines.append(f"# ssl-default-bind-curves {':'.join((*extra, *groups))}")
    return "\n".join(lines) + "\n"
