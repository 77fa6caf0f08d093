"""A JVM's own TLS (JSSE): a file of options, `java @FILE ...`.

The properties are defaults for servers without such settings of their own (JSSE Reference Guide
of JDK 25, "Customizing JSSE"). JSSE ignores unknown groups.
"""

from tlslab.advice.emit.offer import Offer
from tlslab.domain.names import Group

# JSSE's names that differ from OpenSSL's.
_NAMES = {"X25519": "x25519", "X448": "x448", "P-256": "secp256r1"}


def group_names(offer: Offer) -> str:
    """The groups as a value of `jdk.tls.namedGroups`, including those that wait."""
    return ",".join(group_name(group) for group in offer.all_groups)


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
    """The group's name in JSSE and Tomcat."""
    return _NAMES.get(group.name, group.openssl)
