"""HAProxy: defaults of all `bind` lines with `ssl`, in the section `global`."""

from tlslab.advice.emit.lines import openssl_configuration
from tlslab.advice.preference import Preference

# The server's order counts unless `prefer-client-ciphers` is set.
_BASE = ["ssl-default-bind-options ssl-min-ver TLSv1.2"]


def emit(preference: Preference) -> str | None:
    """`ssl-default-bind-ciphers` or `ssl-default-bind-curves`."""
    return openssl_configuration(
        preference, "haproxy", _BASE, "ssl-default-bind-ciphers {}", "ssl-default-bind-curves {}"
    )
