"""A JVM's own TLS (JSSE): a file of options, `java @FILE ...`.

The properties are defaults of servers that set nothing of the kind themselves (JSSE Reference Guide
of JDK 25, "Customizing JSSE"). JSSE passes over groups that it does not know.
"""

from tlslab.advice.emit.offer import Offer
from tlslab.model.names import Group

# JSSE's names where they are not those of OpenSSL.
_NAMES = {"X25519": "x25519", "X448": "x448", "P-256": "secp256r1"}


def group_names(offer: Offer) -> str:
    """The groups as `jdk.tls.namedGroups` takes them, those that wait as well."""
    return ",".join(group_name(group) for group in (*offer.waiting, *offer.groups))


def whole(offer: Offer) -> list[str]:
    """Options of a JVM."""
    suites = ",".join(suite.name for suite in (*offer.suites13, *offer.suites12))
    versions = ",".join(f"TLSv{tls}" for tls in reversed(offer.versions))
    return [
        f"-Djdk.tls.server.protocols={versions}",
        f"-Djdk.tls.server.cipherSuites={suites}",
        f"-Djdk.tls.namedGroups={group_names(offer)}",
    ]


def group_name(group: Group) -> str:
    """The name that JSSE and Tomcat have."""
    return _NAMES.get(group.name, group.openssl)
