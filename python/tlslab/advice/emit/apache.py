"""Apache httpd (mod_ssl)."""

from tlslab.advice.emit.lines import openssl_configuration
from tlslab.advice.preference import Preference

_BASE = ["SSLProtocol -all +TLSv1.2 +TLSv1.3", "SSLHonorCipherOrder on"]


def emit(preference: Preference) -> str | None:
    """`SSLCipherSuite` or `SSLOpenSSLConfCmd Groups`."""
    return openssl_configuration(
        preference, "apache", _BASE, "SSLCipherSuite {}", "SSLOpenSSLConfCmd Groups {}"
    )
