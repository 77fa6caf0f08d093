"""Apache httpd (mod_ssl)."""

from tlslab.advice.emit.lines import joined, openssl_configuration
from tlslab.advice.emit.offer import Offer, with_waiting
from tlslab.advice.preference import Preference

_BASE = ["SSLProtocol -all +TLSv1.2 +TLSv1.3", "SSLHonorCipherOrder on"]


def emit(preference: Preference) -> str | None:
    """`SSLCipherSuite` or `SSLOpenSSLConfCmd Groups`."""
    return openssl_configuration(
        preference, "apache", _BASE, "SSLCipherSuite {}", "SSLOpenSSLConfCmd Groups {}"
    )


def whole(offer: Offer) -> list[str]:
    """The complete TLS settings, certificates aside; to be included in a virtual host."""
    lines = [f"SSLProtocol -all {' '.join(f'+TLSv{tls}' for tls in offer.versions)}"]
    lines.append("SSLHonorCipherOrder on")
    if offer.suites12:
        lines.append(f"SSLCipherSuite {joined(offer.suites12)}")
    if offer.suites13:
        lines.append(f"SSLCipherSuite TLSv1.3 {joined(offer.suites13)}")
    return lines + with_waiting("SSLOpenSSLConfCmd Groups {}", offer, "#")
