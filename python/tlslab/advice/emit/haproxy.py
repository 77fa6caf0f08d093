"""HAProxy: defaults of all `bind` lines with `ssl`, in the section `global`."""

from tlslab.advice.emit.lines import joined, openssl_configuration
from tlslab.advice.emit.offer import Offer, with_waiting
from tlslab.advice.preference import Preference

# The server's order counts unless `prefer-client-ciphers` is set.
_BASE = ["ssl-default-bind-options ssl-min-ver TLSv1.2"]


def emit(preference: Preference) -> str | None:
    """`ssl-default-bind-ciphers` or `ssl-default-bind-curves`."""
    return openssl_configuration(
        preference, "haproxy", _BASE, "ssl-default-bind-ciphers {}", "ssl-default-bind-curves {}"
    )


def whole(offer: Offer) -> list[str]:
    """A section `global` with defaults for all `bind` lines: one more file (`-f`)."""
    least, most = offer.versions[0], offer.versions[-1]
    lines = [f"ssl-default-bind-options ssl-min-ver TLSv{least} ssl-max-ver TLSv{most}"]
    if offer.suites12:
        lines.append(f"ssl-default-bind-ciphers {joined(offer.suites12)}")
    if offer.suites13:
        lines.append(f"ssl-default-bind-ciphersuites {joined(offer.suites13)}")
    lines += with_waiting("ssl-default-bind-curves {}", offer, "#")
    return ["global", *(f"    {line}" for line in lines)]
