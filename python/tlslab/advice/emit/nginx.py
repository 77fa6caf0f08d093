"""nginx (ngx_http_ssl_module)."""

from tlslab.advice.emit.lines import joined, openssl_configuration
from tlslab.advice.emit.offer import Offer, with_waiting
from tlslab.advice.preference import Preference

# Without the server's preference OpenSSL takes the client's order, of groups as well as of suites.
_BASE = ["ssl_protocols TLSv1.2 TLSv1.3;", "ssl_prefer_server_ciphers on;"]


def emit(preference: Preference) -> str | None:
    """`ssl_ciphers` or `ssl_ecdh_curve`."""
    return openssl_configuration(
        preference, "nginx", _BASE, "ssl_ciphers {};", "ssl_ecdh_curve {};"
    )


def whole(offer: Offer) -> list[str]:
    """The complete TLS settings, certificates aside; to be included in a server block."""
    lines = [f"ssl_protocols {' '.join(f'TLSv{tls}' for tls in offer.versions)};"]
    lines.append("ssl_prefer_server_ciphers on;")
    if offer.suites12:
        lines.append(f"ssl_ciphers {joined(offer.suites12)};")
    if offer.suites13:
        lines.append(f"ssl_conf_command Ciphersuites {joined(offer.suites13)};")
    return lines + with_waiting("ssl_ecdh_curve {};", offer, "#")
