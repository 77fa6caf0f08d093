"""Apache httpd (mod_ssl)."""

from tlslab.advice.emit.lines import comment, heading, hybrids, openssl_groups, openssl_suites
from tlslab.advice.preference import Preference

_BASE = ["SSLProtocol -all +TLSv1.2 +TLSv1.3", "SSLHonorCipherOrder on"]


def emit(preference: Preference) -> str | None:
    """`SSLCipherSuite` or `SSLOpenSSLConfCmd Groups`."""
    lines = heading(preference, "#") + _BASE
    if preference.subject == "suite":
        suites = openssl_suites(preference)
        if not suites:
            return None
        lines.append(f"SSLCipherSuite {':'.join(suites)}")
        return "\n".join(lines) + "\n"
    groups = openssl_groups(preference, "apache")
    if not groups:
        return None
    lines.append(f"SSLOpenSSLConfCmd Groups {':'.join(groups)}")
    if extra := hybrids(preference, "apache"):
        lines += comment("With OpenSSL 3.5 or later:", "#")
        lines.append(f"# SSLOpenSSLConfCmd Groups {':'.join((*extra, *groups))}")
    return "\n".join(lines) + "\n"
