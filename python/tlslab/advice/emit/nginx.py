"""nginx (ngx_http_ssl_module)."""

from tlslab.advice.emit.lines import comment, heading, hybrids, openssl_groups, openssl_suites
from tlslab.advice.preference import Preference

# Without the server's preference OpenSSL takes the client's order, of groups as well as of suites.
_BASE = ["ssl_protocols TLSv1.2 TLSv1.3;", "ssl_prefer_server_ciphers on;"]


def emit(preference: Preference) -> str | None:
    """`ssl_ciphers` or `ssl_ecdh_curve`."""
    lines = heading(preference, "#") + _BASE
    if preference.subject == "suite":
        suites = openssl_suites(preference)
        if not suites:
            return None
        lines.append(f"ssl_ciphers {':'.join(suites)};")
        return "\n".join(lines) + "\n"
    groups = openssl_groups(preference, "nginx")
    if not groups:
        return None
    lines.append(f"ssl_ecdh_curve {':'.join(groups)};")
    if extra := hybrids(preference, "nginx"):
        lines += comment("With OpenSSL 3.5 or later:", "#")
        lines.append(f"# ssl_ecdh_curve {':'.join((*extra, *groups))};")
    return "\n".join(lines) + "\n"
