"""openssl.cnf: the defaults of all programs on OpenSSL that read it and set nothing themselves."""

from tlslab.advice.emit.lines import joined
from tlslab.advice.emit.offer import Offer, with_waiting


def whole(offer: Offer) -> list[str]:
    """The whole file, for `OPENSSL_CONF` (config(5), SSL_CONF_cmd(3))."""
    lines = [
        "openssl_conf = settings",
        "[settings]",
        "ssl_conf = applications",
        "[applications]",
        "system_default = all",
        "[all]",
        f"MinProtocol = TLSv{offer.versions[0]}",
        f"MaxProtocol = TLSv{offer.versions[-1]}",
        "Options = ServerPreference",
    ]
    if offer.suites12:
        lines.append(f"CipherString = {joined(offer.suites12)}")
    if offer.suites13:
        lines.append(f"Ciphersuites = {joined(offer.suites13)}")
    return lines + with_waiting("Groups = {}", offer, "#")
