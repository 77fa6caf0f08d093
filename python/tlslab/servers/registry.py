"""The kinds of servers that the lab can start: detection, construction, and factors of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tlslab.domain.command_line import did_you_mean
from tlslab.domain.deployment import NO_FRONT, Deployment
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.servers.address import LOOPBACK
from tlslab.servers.apache import Apache
from tlslab.servers.base import Front, Setting, Target
from tlslab.servers.caddy import Caddy
from tlslab.servers.configured import ConfiguredServer
from tlslab.servers.fronted import Fronted
from tlslab.servers.haproxy import HAProxy
from tlslab.servers.nginx import Nginx
from tlslab.servers.node import Node, find_node
from tlslab.servers.programs import REMEDY, has_openssl
from tlslab.servers.reference import Reference, RustlsReference, find_reference
from tlslab.servers.tomcat import Tomcat, find_tomcat

# Factors of a deployment that not every server supports; `processors` works for all (taskset), and
# so does `copy`, which is only a name.
FACTORS = ("workers", "dh_bits", "jdk", "connector", "burn", "configuration")


@dataclass(frozen=True)
class Installation:
    """A server's program on this machine, its name with its version, and its TLS library."""

    program: str
    software: str
    backend: str


@dataclass(frozen=True)
class Kind:
    """A server that the lab manages.

    - `find` looks for the server; it returns None if the server is not installed; `remedy` says
      what to do.
    - `make` raises CannotRunError if the server is missing.
    - `factors`: those of FACTORS that the server takes; STAPLING if it staples a response from a
      file.
    - `front` makes the server as one that terminates TLS before another server; None: it cannot.
    - `plain`: the server can serve HTTP without TLS behind a front.
    - `http2`: the server speaks HTTP/2.
    - `warm_up_ms`: how long a fresh server needs load until its cost is stable.
    - `restart_per_trial`: the cost grows with time, so that each trial gets a fresh server.
    - `no_samples`: the reason that samples of its call stacks are useless; empty if they are not.
    """

    name: str
    find: Callable[[], Installation | None]
    make: Callable[[Setting], Target]
    remedy: str
    factors: frozenset[str] = frozenset()
    front: Callable[[Setting], Front] | None = None
    plain: bool = False
    http2: bool = True
    warm_up_ms: int = 0
    restart_per_trial: bool = False
    no_samples: str = ""

    @property
    def installed(self) -> bool:
        """Whether its program is on this machine."""
        return self.find() is not None


def _reference(server: type[Reference]) -> Callable[[], Installation | None]:
    def find() -> Installation | None:
        found = find_reference()
        if found is None or (server.needs_openssl() and not has_openssl(found)):
            return None
        return Installation(found, server.software, server.backend)

    return find


def _configured(server: type[ConfiguredServer]) -> Callable[[], Installation | None]:
    def find() -> Installation | None:
        found = server.find()
        return Installation(found, *server.versions(found)) if found else None

    return find


def _node() -> Installation | None:
    found = find_node()
    return Installation(found, *Node.versions(found)) if found else None


def _tomcat() -> Installation | None:
    found = find_tomcat()
    return Installation(found, *Tomcat.versions(found)) if found else None


# The factor of the server that terminates TLS; all servers have its level `off`.
STAPLING = "ocsp_stapling"

_WORKERS_AND_DH = frozenset({"workers", "dh_bits"})
_STAPLES = _WORKERS_AND_DH | {STAPLING}
_JAVA = _WORKERS_AND_DH | {"jdk", "connector"}

_KINDS = (
    Kind("reference", _reference(Reference), Reference, REMEDY, _STAPLES | {"burn"}),
    Kind(
        "reference-rustls",
        _reference(RustlsReference),
        RustlsReference,
        REMEDY,
        _STAPLES - {"dh_bits"} | {"burn"},
    ),
    Kind(
        "node",
        _node,
        Node,
        Node.remedy,
        _STAPLES,
        plain=True,
        warm_up_ms=5_000,
        restart_per_trial=True,
    ),
    Kind(
        "tomcat",
        _tomcat,
        Tomcat,
        Tomcat.remedy,
        _JAVA,
        plain=True,
        warm_up_ms=12_000,
        no_samples="perf cannot name what the JVM compiles without an agent in the JVM",
    ),
    Kind(
        "nginx",
        _configured(Nginx),
        Nginx,
        Nginx.remedy,
        _STAPLES | {"configuration"},
        front=Nginx,
        plain=True,
    ),
    Kind("apache", _configured(Apache), Apache, Apache.remedy, _WORKERS_AND_DH, plain=True),
    Kind(
        "haproxy",
        _configured(HAProxy),
        HAProxy,
        HAProxy.remedy,
        _STAPLES,
        front=HAProxy,
        plain=True,
    ),
    Kind(
        "caddy",
        _configured(Caddy),
        Caddy,
        Caddy.remedy,
        frozenset({"workers"}),
        plain=True,
        no_samples="Caddy is stripped: perf cannot name the functions of its TLS library",
    ),
)

MANAGED: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _KINDS})


def find_kind(name: str) -> Kind:
    """The kind with this name. Raises UsageError with the known names."""
    if name not in MANAGED:
        known = f"known: {', '.join(MANAGED)}; a running server is https://HOST[:PORT]/PATH"
        meant = did_you_mean(name, MANAGED)
        raise UsageError(f"unknown target '{name}'", f"{meant} {known}".lstrip())
    return MANAGED[name]


def lacking(deployment: Deployment) -> str | None:
    """The reason that no machine can set up a deployment's servers in this way; None if it is
    possible.

    A cell with such a deployment is unsupported. Raises UsageError for unknown names.
    """
    back = find_kind(deployment.server)
    kinds = [back]
    if deployment.front != NO_FRONT:
        front = find_kind(deployment.front)
        if front.front is None:
            return f"{front.name} cannot terminate TLS before another server"
        kinds.append(front)
    if deployment.obsolete and back.name != Reference.name:
        return f"{back.name} is not set up with obsolete protocols: the reference server is"
    if deployment.ocsp_stapling and STAPLING not in kinds[-1].factors:
        can = ", ".join(kind.name for kind in MANAGED.values() if STAPLING in kind.factors)
        return f"{kinds[-1].name} staples no OCSP response from a file: these do: {can}"
    for factor in FACTORS:
        level = getattr(deployment, factor)
        if level is not None and not any(factor in kind.factors for kind in kinds):
            return f"{' with '.join(kind.name for kind in kinds)} does not take {factor}={level}"
    return None


def build(deployment: Deployment, setting: Setting) -> Target:
    """The target for a deployment: one server, or a front with a server behind it.

    The deployment's own `workers`, `dh_bits`, `jdk`, `connector`, `burn` and `ocsp_stapling`
    replace those of `setting` (`workers` of a server on a JVM is its `threads`); the caller chooses
    the processors. Behind a front the server is plain if possible, and has its own folder `back`.
    Raises UsageError for unknown names, CannotRunError for a server that cannot be set up or is not
    installed.
    """
    if reason := lacking(deployment):
        raise CannotRunError(reason)
    kind = find_kind(deployment.server)
    # A factor `workers` is the threads of a JVM. A front before it has the lab's number of workers.
    on_jvm = "jdk" in kind.factors
    setting = replace(
        setting,
        workers=setting.workers if on_jvm else deployment.workers or setting.workers,
        threads=deployment.workers if on_jvm else None,
        dh_bits=deployment.dh_bits or setting.dh_bits,
        jdk=deployment.jdk or setting.jdk,
        connector=deployment.connector or setting.connector,
        burn=deployment.burn or setting.burn,
        ocsp_stapling=deployment.ocsp_stapling or setting.ocsp_stapling,
    )
    if deployment.front == NO_FRONT:
        return kind.make(setting)
    behind = setting.folder / "back"
    behind.mkdir(exist_ok=True)
    back = kind.make(
        replace(
            setting,
            folder=behind,
            plain=kind.plain,
            http2=False,
            ocsp_stapling=False,
            listen=LOOPBACK,
        )
    )
    front = find_kind(deployment.front).front
    assert front is not None  # `lacking` has checked it.
    return Fronted(front(replace(setting, document_bytes=0)), back)
