"""Apache Tomcat: a JVM of any Java installation, with TLS by the JVM or by OpenSSL."""

import os
import re
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.names import SUITES, find_group
from tlslab.servers.base import Running, Setting, pinned, require
from tlslab.servers.certificates import Authority, CertificateFiles
from tlslab.servers.jdk import Jdk, find_jdk, find_jdks, java_environment
from tlslab.servers.process import ServerProcess, wait_until
from tlslab.servers.rendering import FOLDER, PATH, render, write_document

TEMPLATES = Path(__file__).parent / "templates"
START_S = 180.0
BACKLOG = 4096
CONNECTIONS = 16384

# Tomcat's default number of threads.
THREADS = 200

# Both connectors to OpenSSL call SSL_CTX_set_dh_auto last, whatever was set before.
DH_AUTOMATIC = (
    "Tomcat leaves the size of Diffie-Hellman parameters to OpenSSL, which goes by the key: use "
    "the connector jsse"
)

# The largest number of quoted characters of the server's output in a reason.
WORDS = 400

# Fixed, so that two JDKs on one machine have the same heap; enough for thousands of connections.
HEAP = ("-Xms512m", "-Xmx2g")

JAVA_REMEDY = "apt-get install default-jre-headless, or give the folder of one with --jdk"

_STARTED = re.compile(r'Starting ProtocolHandler \["https?-[^"]*-auto-\d+-(\d+)"\]')
_SKIPPED = re.compile(r"have been skipped: \[+([^\]]*)\]")
_OPENSSL = re.compile(r"\[(OpenSSL \d[^\] ]*)")


def find_tomcat() -> str | None:
    """Tomcat's folder: CATALINA_HOME, or the one that scripts/install-java.sh uses."""
    homes = [Path(__file__).parents[3] / ".cache" / "tomcat"]
    if given := os.environ.get("CATALINA_HOME"):
        homes = [Path(given)]
    return next((str(home) for home in homes if (home / "bin" / "bootstrap.jar").is_file()), None)


class Tomcat:
    """Tomcat from its own archive, with the lab's base folder."""

    name = "tomcat"
    remedy = "run `make tomcat` in a checkout of tlslab, or set CATALINA_HOME to a Tomcat 11"

    def __init__(self, setting: Setting, home: str | None = None) -> None:
        self._setting = setting
        self._home = Path(require(home or find_tomcat(), "Tomcat", self.remedy))
        self._jdk = _choose(setting.levels.get("jdk"))
        self._connector = find_connector(setting.levels.get("connector"))
        name = self.versions(str(self._home))[0]
        self._major = name.partition("/")[2].partition(".")[0]
        if self._jdk.feature < (needed := NEEDS.get(self._major, FEATURE)):
            raise CannotRunError(_too_old(f"Tomcat {self._major}", needed, self._jdk))
        self._authority = Authority(setting.folder, (setting.listen,))
        self._certificates: list[dict[str, str]] = []
        self.software = f"{name} on {self._jdk.label}"
        self.backend = "OpenSSL" if self._connector.openssl else f"JSSE of {self._jdk.label}"
        self.path = PATH

    @staticmethod
    def versions(home: str) -> tuple[str, str]:
        """Tomcat's version, from its own files, and its TLS implementations."""
        try:
            with zipfile.ZipFile(Path(home) / "lib" / "catalina.jar") as jar:
                info = jar.read("org/apache/catalina/util/ServerInfo.properties").decode()
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise CannotRunError(f"{home} holds no whole Tomcat: {error}", Tomcat.remedy) from None
        found = re.search(r"^server\.info=Apache (\S+)", info, re.MULTILINE)
        return (found[1] if found else "Tomcat"), "JSSE or OpenSSL"

    @property
    def trust_pem(self) -> str:
        """The trusted authorities, in PEM; known after `prepare`."""
        return self._authority.trust_pem

    def prepare(self) -> dict[tuple[str, str], str]:
        """Makes certificates and base folder, and tries a start; returns the lacking levels."""
        connector = self._connector
        if self._jdk.feature < connector.feature and not self._setting.plain:
            words = _too_old(f"connector {connector.name}", connector.feature, self._jdk)
            return {("connector", connector.name): words}
        lacking = {} if self._setting.plain else self._issue()
        self._lay_out()
        running, log = self._launch()
        running.stop()
        if self._connector.openssl and (library := _OPENSSL.search(log)):
            self.backend = library[1]
        skipped = {name.strip() for found in _SKIPPED.findall(log) for name in found.split(",")}
        for suite in skipped.intersection(self._setting.suites):
            lacking["suite", suite] = f"{self.software} with {self.backend}: not supported, skipped"
        return lacking

    def start(self) -> Running:
        """Starts a fresh JVM on a free port. Raises CannotRunError with Tomcat's own words."""
        return self._launch()[0]

    def _launch(self) -> tuple[Running, str]:
        """A started Tomcat, and its output until it was ready."""
        process = ServerProcess(
            ["env", *_variables(), *pinned(self._command(), self._setting.processors, "KILL")],
            self._setting.folder / "tomcat.log",
        )
        try:
            up = wait_until(lambda: _port(process.log) is not None, process, START_S)
        except BaseException:
            process.stop()
            raise
        log = process.log.read_text("utf-8", "replace")
        port = _port(process.log)
        if not up or port is None:
            process.stop()
            raise CannotRunError(f"Tomcat did not start: {own_words(log) or 'it said nothing'}")
        scheme = "http" if self._setting.plain else "https"
        return Running(f"{scheme}://{self._setting.host}:{port}{self.path}", process), log

    def _command(self) -> list[str]:
        base = self._setting.folder / "tomcat"
        setting = self._setting
        options = [f"-Dcatalina.home={self._home}", f"-Dcatalina.base={base}", *HEAP]
        options += [f"-Djava.io.tmpdir={base / 'temp'}"]
        options += ["-Djava.util.logging.manager=org.apache.juli.ClassLoaderLogManager"]
        options += [f"-Djava.util.logging.config.file={base / 'conf' / 'logging.properties'}"]
        options += ["-Dorg.apache.catalina.startup.EXIT_ON_INIT_FAILURE=true"]
        if self._connector.openssl:
            options += [f"-Djava.library.path={self._library_path()}", *native_options(self._jdk)]
        elif not setting.plain:
            options += tls_options(
                self._jdk, base, setting.groups, setting.suites, setting.resume, setting.dh_bits
            )
        jars = [self._home / "bin" / jar for jar in ("bootstrap.jar", "tomcat-juli.jar")]
        main = ["-cp", ":".join(map(str, jars)), "org.apache.catalina.startup.Bootstrap", "start"]
        return [str(self._jdk.java), *options, *main]

    def _library_path(self) -> str:
        """The folder of tomcat-native: built beside Tomcat, or installed by Debian."""
        return f"{self._home / 'native' / 'lib'}:/usr/lib/x86_64-linux-gnu/jni:/usr/lib/jni"

    def _issue(self) -> dict[tuple[str, str], str]:
        """Makes the certificates; a host of Tomcat's takes one of each type."""
        lacking = self._setting.standard_groups_only()
        if self._connector.openssl and (level := self._setting.levels.get("dh_bits")) is not None:
            lacking["dh_bits", level] = DH_AUTOMATIC
        types: set[str] = set()
        for key in self._setting.keys:
            kind = _type(key)
            if kind in types or (types and "UNDEFINED" in {kind, *types}):
                lacking["key", key] = (
                    f"Tomcat takes no {key} certificate beside the one that it has"
                )
                continue
            types.add(kind)
            files = self._authority.issue(key)
            self._certificates.append(_certificate(kind, files))
        return lacking

    def _lay_out(self) -> None:
        """Writes the base folder: configuration, the document, and places to write to."""
        base = self._setting.folder / "tomcat"
        for name in ("conf", "temp", "logs", "work", "webapps"):
            (base / name).mkdir(parents=True, exist_ok=True)
        write_document(base, self._setting.document_bytes)
        render("tomcat-server.xml.j2", base / "conf" / "server.xml", self._values(base))
        for name in ("web.xml", "logging.properties"):
            shutil.copy(TEMPLATES / f"tomcat-{name}", base / "conf" / name)

    def _values(self, base: Path) -> dict[str, object]:
        """The values of the template of server.xml."""
        setting = self._setting
        return {
            "listener": None if setting.plain else self._connector.listener,
            "implementation": self._connector.implementation,
            "openssl": self._connector.openssl,
            "listen": setting.listen,
            "backlog": BACKLOG,
            "connections": CONNECTIONS,
            "threads": setting.levels.number("workers") or THREADS,
            "idle_ms": setting.idle_s * 1000,
            "plain": setting.plain,
            "http2": setting.http2,
            # Tomcat 9 reads the suites of TLS 1.3 here, too.
            "ciphers": [s.name for s in SUITES if s.tls == "1.2" or self._major == "9"],
            "suites": [suite.name for suite in SUITES if suite.tls == "1.3"],
            "groups": list(map(group_name, setting.groups)),
            "tickets": setting.resume in TICKETS,
            "sessions": setting.resume == "id",
            "certificates": self._certificates,
            "documents": base / FOLDER,
        }


def _too_old(what: str, feature: int, jdk: Jdk) -> str:
    return f"{what} needs Java {feature} or newer, and {jdk.home} is {jdk.label}"


def _choose(level: str | None) -> Jdk:
    """The Java installation of a level, or the newest of this machine. Raises CannotRunError."""
    if level is None:
        if not (jdks := find_jdks()).found:
            raise CannotRunError("no Java installation that starts was found", JAVA_REMEDY)
        return jdks.found[-1]
    found = find_jdk(level)
    if not isinstance(found, Jdk):
        raise CannotRunError(found.reason, JAVA_REMEDY)
    return found


def _type(key: str) -> str:
    if key.startswith("rsa-"):
        return "RSA"
    return "EC" if key.startswith("ecdsa-") else "UNDEFINED"


def _certificate(kind: str, files: CertificateFiles) -> dict[str, str]:
    return {"type": kind, "certificate": str(files.certificate), "key": str(files.key)}


def _variables() -> Sequence[str]:
    """The arguments of `env` that give a program this environment and no other variables."""
    return ["-i", *(f"{name}={value}" for name, value in java_environment().items())]


def _port(log: Path) -> int | None:
    """The port that Tomcat's log names."""
    found = _STARTED.search(log.read_text("utf-8", "replace"))
    return int(found[1]) if found else None


def own_words(log: str) -> str:
    """The reason for a failed start: the innermost cause in the log, or else the log's end."""
    causes: list[str] = re.findall(r"^\s*Caused by: (.+)$", log, re.MULTILINE)
    severe: list[str] = re.findall(r"SEVERE \[[^\]]*\] \S+ (.+)$", log, re.MULTILINE)
    lines = causes[-1:] or severe[:1] or [" ".join(log.split())[-WORDS:]]
    return lines[0][:WORDS]


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

# The first Java release on which Tomcat 11 runs, and those of earlier versions (each one's
# RUNNING.txt).
FEATURE = 17
NEEDS = {"9": 8, "10": 11}

CONNECTORS = {
    connector.name: connector
    for connector in (
        Connector("jsse", f"{_TLS}.jsse.JSSEImplementation", None, False, 8),
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
