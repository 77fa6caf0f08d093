"""Tomcat's TLS implementations."""

from dataclasses import dataclass

from tlslab.domain.errors import UsageError


@dataclass(frozen=True)
class Connector:
    """One implementation: its class, and the listener that loads its library.

    `openssl`: TLS is OpenSSL's, not the JVM's. `feature`: the first Java release for it.
    """

    name: str
    implementation: str
    listener: str | None
    openssl: bool
    feature: int


_TLS = "org.apache.tomcat.util.net"
_LISTENERS = "org.apache.catalina.core"

# The first Java release on which Tomcat 11 runs.
FEATURE = 17

CONNECTORS = {
    connector.name: connector
    for connector in (
        Connector("jsse", f"{_TLS}.jsse.JSSEImplementation", None, False, FEATURE),
        Connector(
            "openssl",
            f"{_TLS}.openssl.OpenSSLImplementation",
            f"{_LISTENERS}.AprLifecycleListener",
            True,
            FEATURE,
        ),
        # Uses the JVM's foreign function interface, final in Java 22 (JEP 454).
        Connector(
            "openssl-ffm",
            f"{_TLS}.openssl.panama.OpenSSLImplementation",
            f"{_LISTENERS}.OpenSSLLifecycleListener",
            True,
            22,
        ),
    )
}

DEFAULT = "jsse"


def find_connector(name: str | None) -> Connector:
    """The connector with this name, or the one that needs only the JVM. Raises UsageError."""
    try:
        return CONNECTORS[name or DEFAULT]
    except KeyError:
        known = ", ".join(CONNECTORS)
        raise UsageError(f"unknown connector '{name}'", f"known: {known}") from None
