"""nginx (ngx_http_ssl_module)."""

from tlslab.advice.emit.lines import openssl_configuration
from tlslab.advice.preference import Preference

# Without the server's preference OpenSSL takes the client's order, of groups as well as of suites.
_BASE = ["ssl_protocols TLSv1.2 TLSv1.3;", "ssl_prefer_server_ciphers on;"]


def emit(preference: Preference) -> str | None:
    """`ssl_ciphers` or `ssl_ecdh_curve`."""
    return openssl_configuration(
        preference, "nginx", _BASE, "ssl_ciphers {};", "ssl_ecdh_curve {};"
    )
