"""The kinds of servers that the lab can start: detection, construction, and factors of each."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from urllib.parse import urlsplit

from tlslab.domain.command_line import did_you_mean
from tlslab.domain.deployment import Deployment, FrontLevel
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.factors import FACTORS
from tlslab.domain.wording import joined
from tlslab.servers.address import LOOPBACK
from tlslab.servers.apache import Apache
from tlslab.servers.base import Front, Running, Setting, Target
from tlslab.servers.caddy import Caddy
from tlslab.servers.configured import ConfiguredServer
from tlslab.servers.haproxy import HAProxy
from tlslab.servers.nginx import Nginx
from tlslab.servers.node import Node, find_node
from tlslab.servers.process import ServerGroup
from tlslab.servers.programs import REMEDY, has_openssl
from tlslab.servers.reference import Reference, RustlsReference, find_reference
from tlslab.servers.tls_part import Syntax
from tlslab.servers.tomcat import Tomcat, find_tomcat


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
    - `factors`: those of the side `server` (`domain.factors`) that the server takes; `one_key`:
      those that it takes with one certificate only, and why.
    - `front` makes the server as one that terminates TLS before another server; None: it cannot.
    - `passes_tls`: as a front it can forward TLS, too.
    - `plain`: the server can serve HTTP without TLS: behind a front, or as a baseline.
    - `http2`: the server speaks HTTP/2; `prior_knowledge`: it does without TLS, too.
    - `http2_since`: the first version that does so unless its file says otherwise; None: none does.
    - `warm_up_ms`: how long a fresh server needs load until its cost is stable.
    - `restart_per_trial`: the cost grows with time, so that each trial gets a fresh server.
    - `syntax`: how its files are read, for a proof; None: they are not.
    - `no_samples`: the reason that samples of its call stacks are useless; empty if they are not.
    """

    name: str
    find: Callable[[], Installation | None]
    make: Callable[[Setting], Target]
    remedy: str
    factors: frozenset[str] = frozenset()
    one_key: Mapping[str, str] = field(default_factory=dict)
    front: Callable[[Setting], Front] | None = None
    passes_tls: bool = False
    plain: bool = False
    http2: bool = True
    prior_knowledge: bool = False
    http2_since: tuple[int, ...] | None = None
    warm_up_ms: int = 0
    restart_per_trial: bool = False
    syntax: Syntax | None = None
    no_samples: str = ""

    @property
    def http2_by_default(self) -> bool:
        """Whether the installed version speaks HTTP/2 over TLS unless its file says otherwise.

        If the server is not installed, the newest version counts.
        """
        if self.http2_since is None:
            return False
        found = self.find()
        version = re.search(r"/(\d+)\.(\d+)", found.software) if found else None
        return version is None or tuple(map(int, version.groups())) >= self.http2_since

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


_WORKERS_AND_DH = frozenset({"workers", "dh_bits"})
_STAPLES = _WORKERS_AND_DH | {"ocsp_stapling"}
# nginx's `ssl_stapling_file` and Node's event name one response, whichever certificate is sent.
_ONE_RESPONSE = {"ocsp_stapling": "staples one OCSP response to all certificates"}
_JAVA = _WORKERS_AND_DH | {"jdk", "connector"}

_KINDS = (
    Kind("reference", _reference(Reference), Reference, REMEDY, _STAPLES | {"burn"}, plain=True),
    Kind(
        "reference-rustls",
        _reference(RustlsReference),
        RustlsReference,
        REMEDY,
        _STAPLES - {"dh_bits"} | {"burn"},
        plain=True,
    ),
    Kind(
        "node",
        _node,
        Node,
        Node.remedy,
        _STAPLES,
        _ONE_RESPONSE,
        plain=True,
        prior_knowledge=True,
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
        _ONE_RESPONSE,
        front=Nginx,
        plain=True,
        prior_knowledge=True,
        syntax=Nginx.syntax,
    ),
    Kind(
        "apache",
        _configured(Apache),
        Apache,
        Apache.remedy,
        _WORKERS_AND_DH | {"configuration"},
        front=Apache,
        plain=True,
        syntax=Apache.syntax,
    ),
    Kind(
        "haproxy",
        _configured(HAProxy),
        HAProxy,
        HAProxy.remedy,
        _STAPLES | {"configuration"},
        front=HAProxy,
        passes_tls=True,
        plain=True,
        # The default of `alpn` (Configuration Manual, section 5.1).
        http2_since=(2, 8),
        syntax=HAProxy.syntax,
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
    before = deployment.before
    if before is not None:
        front = find_kind(before.target)
        if front.front is None:
            return f"{front.name} cannot terminate TLS before another server"
        if before.passes_tls and not front.passes_tls:
            return f"{front.name} is not set up to pass TLS through"
        kinds.insert(0 if before.passes_tls else 1, front)
    if deployment.plain and not back.plain:
        return f"{back.name} is not set up without TLS"
    if deployment.prior_knowledge and not back.prior_knowledge:
        others = joined([kind.name for kind in MANAGED.values() if kind.prior_knowledge])
        return f"{back.name} is not set up with HTTP/2 without TLS: {others} are"
    if deployment.obsolete and back.name != Reference.name:
        return f"{back.name} is not set up with obsolete protocols: the reference server is"
    for factor, level in deployment.levels:
        row = FACTORS[factor]
        able = kinds[-1:] if row.at_tls_end else kinds
        if row.side != "server" or any(factor in kind.factors for kind in able):
            continue
        if row.lacks:
            can = ", ".join(kind.name for kind in MANAGED.values() if factor in kind.factors)
            return f"{able[-1].name} {row.lacks}: these do: {can}"
        return f"{' with '.join(kind.name for kind in able)} does not take {factor}={level}"
    return None


def with_one_key(deployment: Deployment, keys: Sequence[str]) -> dict[tuple[str, str], str]:
    """The levels that the server which terminates TLS lacks because it serves several keys."""
    before = deployment.before
    end = deployment.server if before is None or before.passes_tls else before.target
    one_key = find_kind(end).one_key
    return {
        (factor, level): f"{end} {one_key[factor]}: give one key (--set key=KEY)"
        for factor, level in deployment.levels
        if factor in one_key and len(keys) > 1
    }


def build(deployment: Deployment, setting: Setting) -> Target:
    """The target for a deployment: one server, or a front with servers behind it.

    The deployment's own levels replace those of `setting`; the caller chooses the processors.
    Behind a front that terminates TLS the server is plain if possible. Each server behind has a
    folder of its own, and its share of the processors if there are enough for all.
    Raises UsageError for unknown names, CannotRunError for a server that cannot be set up or is not
    installed.
    """
    if reason := lacking(deployment):
        raise CannotRunError(reason)
    kind = find_kind(deployment.server)
    levels = deployment.levels.over(setting.levels)
    setting = replace(setting, levels=levels, plain=deployment.plain)
    before = deployment.before
    if before is None:
        return kind.make(setting)
    backs = [kind.make(_behind(setting, kind, before, n)) for n in range(before.servers)]
    front = find_kind(before.target).front
    assert front is not None  # `lacking` has checked it.
    # Before a JVM the factor `workers` is the JVM's threads; the front has the lab's number.
    levels = setting.levels.without("workers") if "jdk" in kind.factors else setting.levels
    if before.passes_tls:
        levels = levels.without(*(n for n, row in FACTORS.items() if row.at_tls_end))
    own = replace(
        setting,
        document_bytes=0,
        levels=levels,
        plain=before.passes_tls,
        passes_tls=before.passes_tls,
    )
    return Fronted(front(own), backs, before.passes_tls)


def _behind(setting: Setting, kind: Kind, before: FrontLevel, number: int) -> Setting:
    """The setting of one of the servers behind a front."""
    folder = setting.folder / ("back" if number == 0 else f"back-{number + 1}")
    folder.mkdir(exist_ok=True)
    own = setting.processors[number :: before.servers] or setting.processors
    setting = replace(setting, folder=folder, processors=own)
    if before.passes_tls:
        return setting
    ending = (name for name, row in FACTORS.items() if row.at_tls_end)
    return replace(
        setting,
        plain=kind.plain,
        http2=False,
        levels=setting.levels.without(*ending),
        listen=LOOPBACK,
    )


class Fronted:
    """A front and the servers behind it; clients connect to the front.

    Certificates and counts are those of the side that terminates TLS; a count of several servers
    is none. Processor time and memory are those of all servers; the death of any is the target's.
    """

    def __init__(self, front: Front, backs: Sequence[Target], passes_tls: bool = False) -> None:
        self._front = front
        self._backs = backs
        self._ends: Sequence[Target] = backs if passes_tls else (front,)
        behind = backs[0]
        number = "" if len(backs) == 1 else f"{len(backs)} "
        self.name = f"{front.name}+{behind.name}"
        self.backend = self._ends[0].backend
        self.software = f"{front.software} before {number}{behind.software}"

    @property
    def trust_pem(self) -> str:
        """The trusted authorities, in PEM."""
        return "".join(end.trust_pem for end in self._ends)

    @property
    def path(self) -> str:
        """The document's path: the front passes paths on unchanged."""
        return self._backs[0].path

    def prepare(self) -> dict[tuple[str, str], str]:
        """Makes all servers' certificates and configuration.

        Returns what the side that terminates TLS lacks, with reasons.
        """
        lacks = {each: each.prepare() for each in (*self._backs, self._front)}
        return lacks[self._ends[0]]

    def start(self) -> Running:
        """Starts the servers behind, then the front."""
        started: list[Running] = []
        try:
            for back in self._backs:
                started.append(back.start())
            front = self._front.start(*(running.url for running in started))
        except BaseException:
            for running in started:
                running.stop()
            raise
        ends = started if self._ends is self._backs else [front]
        scheme = urlsplit(ends[0].url).scheme
        return Running(
            url=f"{scheme}://{urlsplit(front.url).netloc}{self.path}",
            process=ServerGroup((front.process, *(running.process for running in started))),
            count=ends[0].count if len(ends) == 1 else None,
        )
