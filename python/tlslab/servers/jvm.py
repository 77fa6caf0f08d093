"""Options of a JVM for its own TLS (JSSE), and exceptions from the JVM's prohibitions."""

import re
from collections.abc import Sequence
from pathlib import Path

from tlslab.domain.names import find_group
from tlslab.servers.jdk import Jdk

# JSSE's names that differ from OpenSSL's.
_NAMES = {"X25519": "x25519", "X448": "x448", "P-256": "secp256r1"}

# JSSE's ways of resumption that use tickets.
TICKETS = ("ticket", "psk", "psk-only")

PROPERTY = "jdk.tls.disabledAlgorithms"

# Since JDK 22, a call of native code needs a permission.
NATIVE_ACCESS_FEATURE = 22


def group_name(group: str) -> str:
    """The name of a group of `model.names` in `jdk.tls.namedGroups`."""
    found = find_group(group)
    return group if found is None else _NAMES.get(found.name, found.openssl)


def tls_options(
    jdk: Jdk,
    folder: Path,
    groups: Sequence[str],
    suites: Sequence[str],
    resume: str,
    dh: int | None,
) -> list[str]:
    """Options of a JVM whose server offers these groups and suites, and resumes in this way.

    `dh`: the size of Diffie-Hellman parameters in bits. If the JDK forbids RSA key transport and a
    suite needs it, a file with the exception is written to `folder`. Sources: the JSSE Reference
    Guide of JDK 25, "Customizing JSSE".
    """
    tickets = resume in TICKETS
    options = [f"-Djdk.tls.server.enableSessionTicketExtension={str(tickets).lower()}"]
    if groups:
        options.append("-Djdk.tls.namedGroups=" + ",".join(map(group_name, groups)))
    if resume == "none":
        options.append("-Djdk.tls.server.newSessionTicketCount=0")
    if dh is not None:
        options.append(f"-Djdk.tls.ephemeralDHKeySize={dh}")
    if any(suite.startswith("TLS_RSA_WITH_") for suite in suites):
        options += _allow(jdk, folder, "TLS_RSA_*")
    return options


def native_options(jdk: Jdk) -> list[str]:
    """Options of a JVM that calls native libraries."""
    return ["--enable-native-access=ALL-UNNAMED"] if jdk.feature >= NATIVE_ACCESS_FEATURE else []


def _allow(jdk: Jdk, folder: Path, algorithm: str) -> list[str]:
    """The option that removes one algorithm from the JDK's list; none if the list lacks it."""
    disabled = disabled_algorithms(_read(jdk.home / "conf" / "security" / "java.security"))
    if algorithm not in disabled:
        return []
    file = folder / "java.security"
    left = ", ".join(each for each in disabled if each != algorithm)
    file.write_text(f"{PROPERTY}={left}\n", "utf-8")
    return [f"-Djava.security.properties={file}"]


def disabled_algorithms(security: str) -> list[str]:
    """The algorithms that a JDK's file `java.security` forbids in TLS.

    A backslash continues a line.
    """
    joined = re.sub(r"\\\r?\n\s*", "", security)
    found = re.search(rf"^{re.escape(PROPERTY)}=(.*)$", joined, re.MULTILINE)
    return [each.strip() for each in found[1].split(",")] if found else []


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""
